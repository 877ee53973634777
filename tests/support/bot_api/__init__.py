"""A local Bot API server, as strict as Telegram's, that tests can script and inspect."""
