"""What is remembered: sessions, Markdown files, compaction; owner of the database."""
