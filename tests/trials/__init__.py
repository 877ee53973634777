"""Trials on whole machines. They are commands and not part of a test run."""
