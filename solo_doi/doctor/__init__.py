"""Checks that the library contributes to solo-doctor."""
