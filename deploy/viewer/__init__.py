"""Robot in three dimensions, served by a process that holds no key of the robot.

Page code of the library viser runs in the operator's browser. This room imports nothing that can
send a message to a robot: it receives poses on its standard input, and draws them.
"""
