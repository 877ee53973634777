"""Tests of the feature reminders."""
