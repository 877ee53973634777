"""The slash commands, independent of the channel."""
