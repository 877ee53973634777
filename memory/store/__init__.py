"""The database: entries, the search index, migrations, integrity checks and erasure."""
