"""Finding what is remembered, for people and for prompts."""
