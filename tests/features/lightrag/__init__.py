"""Tests of the feature lightrag."""
