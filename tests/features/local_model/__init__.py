"""Tests of the feature local model."""
