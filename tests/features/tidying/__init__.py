"""Tests of the feature tidying."""
