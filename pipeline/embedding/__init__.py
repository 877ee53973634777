"""What makes vectors of texts: a small model on this machine, or one behind an OpenAI-compatible endpoint."""
