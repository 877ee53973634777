"""Words, names, people, tokens and overlap: what is known of texts by themselves."""
