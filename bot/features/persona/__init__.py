"""The persona: how the bot speaks, for all chats and for each."""
