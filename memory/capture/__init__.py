"""Detects statements worth remembering in typed messages, without calling a language model."""
