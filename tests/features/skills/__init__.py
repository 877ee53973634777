"""Tests of the feature skills."""
