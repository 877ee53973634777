"""Voice replies: answers are also sent as voice messages. They need a speech model (LLM_SPEECH_MODEL)."""
