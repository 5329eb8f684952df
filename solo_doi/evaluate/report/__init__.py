"""Figures, pictures and the HTML report."""
