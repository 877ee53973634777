"""Compute what models cost a month at 50 messages a day, from the list of prices: `python -m benchmarks.monthly_cost`.

The tokens of a message were measured in a conversation with the whole memory and all tools. They are a busy month's:
short conversations cost less.
"""

from __future__ import annotations

import sys
from urllib.parse import urlsplit

from config.models import load_catalogue

MESSAGES = 50 * 30
PROMPT_TOKENS = 12_600
"""For one message: identity, memory, rules, tools and conversation."""
REPEATED_TOKENS = 11_000
"""Part of these that repeats the start of the previous prompt. Providers with a cache charge less for it."""
ANSWER_TOKENS = 300
BACKGROUND_PROMPT_TOKENS = 800
"""For summaries, learning and verification, per message."""
BACKGROUND_ANSWER_TOKENS = 100

MODELS = (
    ("gpt-6.1-sol", "https://api.openai.com/v1"),
    ("gpt-6-luna", "https://api.openai.com/v1"),
    ("claude-sonnet-5-5", "https://api.anthropic.com/v1"),
    ("claude-opus-5-5", "https://api.anthropic.com/v1"),
    ("gemini-3.8-flash", "https://generativelanguage.googleapis.com/v1beta/openai"),
    ("deepseek-v4-flash", "https://api.deepseek.com"),
    ("deepseek-v4-pro", "https://api.deepseek.com"),
    ("kimi-k3", "https://api.moonshot.ai/v1"),
    ("mistral-medium-latest", "https://api.mistral.ai/v1"),
    ("openai/gpt-oss-120b", "https://api.groq.com/openai/v1"),
    ("anthropic/claude-sonnet-5.5", "https://openrouter.ai/api/v1"),
)


def compute_monthly_cost(model: str, url: str) -> tuple[float, float] | None:
    """Return US dollars a month with and without a cache, or None if the price is unknown."""
    price = load_catalogue().get_price(model, urlsplit(url).hostname)
    if price is None:
        return None
    background = price.compute(BACKGROUND_PROMPT_TOKENS, BACKGROUND_ANSWER_TOKENS)
    cached, plain = (
        price.compute(PROMPT_TOKENS, ANSWER_TOKENS, tokens) + background for tokens in (REPEATED_TOKENS, 0)
    )
    return cached * MESSAGES, plain * MESSAGES


def main() -> None:
    """Print a line for each model of MODELS, or for pairs of name and address in the arguments."""
    given = sys.argv[1:]
    models = tuple(zip(given[::2], given[1::2], strict=True)) if given else MODELS
    for model, url in models:
        costs = compute_monthly_cost(model, url)
        text = "price unknown" if costs is None else f"${costs[0]:.2f} with a cache, ${costs[1]:.2f} without"
        sys.stdout.write(f"{model} at {urlsplit(url).hostname}: {text}\n")


if __name__ == "__main__":
    main()
