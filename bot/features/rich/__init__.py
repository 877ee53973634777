"""Rich messages: Telegram's apps lay out tables, headings and nested lists of answers."""
