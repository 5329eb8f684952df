"""Checks that deployment contributes to solo-doctor."""
