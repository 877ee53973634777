"""Whole machines, made anew: commands, no part of a test run."""
