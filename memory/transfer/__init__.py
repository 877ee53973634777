"""Taking memory along: export and import."""
