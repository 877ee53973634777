"""Tests of single components, alone or with a database."""
