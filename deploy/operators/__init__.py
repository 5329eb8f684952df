"""Operators of the controller: a script for dry runs, a spectator, a person over LCM."""
