"""The commands that people can send, whatever the channel."""
