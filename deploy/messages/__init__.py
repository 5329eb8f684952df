"""Messages between robot, controller and operator: `.lcm` files, generated classes, LCM link."""
