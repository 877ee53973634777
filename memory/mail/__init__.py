"""Inbox and outbox of the channels, pruning of old rows, and chats that get a new id."""
