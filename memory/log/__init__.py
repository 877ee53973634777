"""Everything that was said, and the rows that keep a conversation going over restarts."""
