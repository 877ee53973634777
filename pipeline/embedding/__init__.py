"""Embedders: a small model on this machine, or a model behind an OpenAI-compatible endpoint."""
