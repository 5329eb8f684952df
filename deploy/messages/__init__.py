"""Messages between robot, controller and operator: `.lcm` files, the classes made of them, channels."""
