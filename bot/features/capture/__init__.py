"""Capture: learns from single typed messages, without waiting for the end of the conversation."""
