"""Reminders, scheduled tasks, and offers of reminders for known dates."""
