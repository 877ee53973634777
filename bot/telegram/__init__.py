"""The Telegram channel."""

CHANNEL = "telegram"
"""Name of the channel, with which the ids of its sessions begin."""
