"""What the running service keeps for itself: inbox and outbox, jobs, notices, usage, what endpoints take."""
