"""Tests of the feature imports."""
