"""Text processing without a database: words, stems, names, tokens and valid characters."""
