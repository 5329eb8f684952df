"""Solo12 itself: names, numbers, kinematics, observations and actions. Needs numpy only."""
