"""What is sent besides words: how it is fetched, read, seen and heard."""
