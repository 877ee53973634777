"""The memory itself: the log, entries, search, Markdown files and consolidation. All SQL is in this package."""
