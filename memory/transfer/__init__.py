"""Backup and restore, export and import, and the replica."""
