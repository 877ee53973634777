"""Prompts, and the token budgets that they must fit."""
