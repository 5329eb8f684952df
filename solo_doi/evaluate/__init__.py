"""Evaluation of policies: rollouts, measures, figures and reports."""
