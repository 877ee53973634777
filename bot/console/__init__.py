"""The console: chat in a terminal or through a pipe."""
