"""Who answers at the other end of LCM: a simulated Solo12, a real one."""
