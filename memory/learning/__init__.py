"""Making memories of what is said, and counting their use."""
