"""Undoing, forgetting, taking along, and who is let in."""
