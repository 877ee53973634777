"""Settings, the model catalogue and logging."""
