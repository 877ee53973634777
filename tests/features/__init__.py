"""Tests of features, and of the mechanism that adds them."""
