"""What the robot is: names, numbers, kinematics, observations and actions. Needs numpy only."""
