"""Tests of contracts with servers, engines, former versions and settings."""
