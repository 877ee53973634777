"""Tests of the feature voice."""
