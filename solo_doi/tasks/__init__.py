"""What is asked of the robot: commands, observations, rewards, ends of episodes."""
