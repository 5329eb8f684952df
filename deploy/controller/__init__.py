"""The controller process: loop, state machine, safety checks, skills."""
