"""What a model says it learned: its citation, the second look at it, and the facts that come of it."""
