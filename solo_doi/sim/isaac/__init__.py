"""Isaac Gym backend: the client of a worker process."""
