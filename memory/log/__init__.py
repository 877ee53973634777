"""The log of conversations, with sessions, turns and compaction."""
