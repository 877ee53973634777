"""Measurements of Mneme, each a command: `python -m benchmarks.NAME --help`."""
