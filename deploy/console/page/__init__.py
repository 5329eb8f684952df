"""The operator's page in a browser: what the robot does, a stop button, and driving."""
