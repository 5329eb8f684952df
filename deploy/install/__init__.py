"""The environment of the robot's computer."""
