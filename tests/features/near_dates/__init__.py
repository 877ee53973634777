"""Tests of the feature near_dates."""
