"""Media: fetching files, reading documents, and recognising speech."""
