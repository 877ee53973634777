"""The Markdown files, which people may edit too."""
