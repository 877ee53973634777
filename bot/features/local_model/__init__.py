"""A model that runs on this machine, in a child process, for bots without an endpoint."""
