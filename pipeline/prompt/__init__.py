"""What a model is told, and what that may cost."""
