"""Consolidation of conversations into memory, and the weekly cleanup."""
