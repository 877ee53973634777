"""Everything that touches the outside: Telegram, the console, commands, and the composition root."""
