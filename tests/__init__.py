"""Tests of Mneme."""
