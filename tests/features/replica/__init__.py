"""Tests of the feature replica."""
