"""The console: the same conversation at a terminal, or through a pipe."""
