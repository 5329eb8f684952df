"""Settings of all tests: the same examples in every run, and none failed for being slow on a busy machine."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
