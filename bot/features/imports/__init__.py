"""Import from other programs: conversations of assistants and messengers, memories of other agents."""
