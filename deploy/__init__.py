"""Application 2, deployment: run exported skills on a simulated or real Solo12."""
