"""Media: fetching files, reading documents, and recognising and producing speech."""
