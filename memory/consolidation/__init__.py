"""Making lasting memory of conversations, and tidying it."""
