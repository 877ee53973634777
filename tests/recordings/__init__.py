"""Recorded chats with the real bot, and the code that records them: `python -m tests.recordings`.

A test plays each chat again and compares. The pictures and excerpts in docs/ come from these recordings.
"""
