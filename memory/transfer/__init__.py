"""Taking memory along: backup and restore, export and import, in one kind of archive."""
