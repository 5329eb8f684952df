"""Sources of requests to the controller: a script, a spectator, a person over LCM."""
