"""Tests of the feature vectors."""
