"""One turn: the ordered systems, the model client, tools, token budgets and prompts."""
