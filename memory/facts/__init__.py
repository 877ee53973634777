"""Facts that a model extracts: citations, verification, and the entries that result."""
