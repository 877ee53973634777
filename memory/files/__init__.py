"""The Markdown files that people edit too."""
