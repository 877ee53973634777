"""Tests of the feature capture."""
