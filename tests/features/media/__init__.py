"""Tests of the feature media."""
