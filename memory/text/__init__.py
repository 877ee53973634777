"""Words, names and tokens: what is known of texts by themselves."""
