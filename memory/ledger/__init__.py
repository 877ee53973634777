"""Changes of memory and their undo."""
