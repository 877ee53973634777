"""Media: reading documents, looking at pictures, and recognising speech."""
