"""The Telegram channel."""

CHANNEL = "telegram"
"""Its name, with which the ids of its sessions begin."""
