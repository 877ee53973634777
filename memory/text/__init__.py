"""Words, names, people, tokens and secrets: what is known of a text by itself."""
