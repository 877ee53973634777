"""Tests of the feature guest."""
