"""The real Solo12 below LCM: the master board's wire protocols, its sessions, calibration and bring-up."""
