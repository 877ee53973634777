"""The command line, the console and the set-up."""
