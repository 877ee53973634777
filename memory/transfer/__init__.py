"""Backup and restore, export and import."""
