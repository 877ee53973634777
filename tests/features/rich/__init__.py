"""Tests of the feature rich."""
