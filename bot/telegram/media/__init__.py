"""What people send in Telegram besides words: told from updates, fetched, collected."""
