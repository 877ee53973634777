"""Guest mode: the owner mentions the bot in a chat without it, and gets one message as an answer."""
