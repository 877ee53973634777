"""Changing what is remembered: one writer, one action, one undo."""
