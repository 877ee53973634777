"""Everything that was said."""
