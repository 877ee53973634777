"""Test support: local servers, clocks, terminals."""
