"""Tests of the Bot API server, through the client that Mneme uses."""
