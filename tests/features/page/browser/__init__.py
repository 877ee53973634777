"""Tests of the feature page."""
