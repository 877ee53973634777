"""Taking in what other programs have kept: conversations of assistants and messengers, memories of other agents."""
