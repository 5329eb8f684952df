"""Evaluation of tasks that declare measures of episodes."""
