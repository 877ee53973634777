"""Photos, files and recordings: what was sent besides words, by reference, with the text that is in it."""
