"""Application 2: skills as files, and the control loop of the robot."""
