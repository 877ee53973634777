"""A second look that agrees, for tests on other subjects."""

from __future__ import annotations

import json
import re

from memory.facts.second_look import CLAIMS

FALSE = {text for _, text, is_true in CLAIMS if not is_true}
"""What does not follow of the claims by which a model is tested."""


def confirm_claims(prompt: str) -> str:
    """Confirm every claim, as a replacement or repetition of the known memory on its subject."""
    known = re.findall(r"^K(\d+)\. (?:\((.*?)\) )?(.*)$", prompt, re.MULTILINE)
    if "by their form alone" in prompt:
        return _confirm_captures(prompt)
    claims = re.findall(r"^(\d+)\. (?:\((.*?)\) )?(.*)$", prompt.rpartition("## Claims")[2], re.MULTILINE)
    claims = [(number, subject, re.sub(r" \((?:since|until) [\d-]+\)", "", text)) for number, subject, text in claims]
    numbers = re.findall(r"^\[(\d+)\] (?!assistant:)", prompt, re.MULTILINE)
    verdicts = {
        number: {
            "verdict": "unclear" if text in FALSE and "I lent Marco my drill" in prompt else "follows",
            "message": int(numbers[-1]) if numbers else None,
            "now": True,
            "replaces": [
                f"K{at}" for at, of, said in known if said != text and (not subject or of == subject.casefold())
            ],
            "same": [
                f"K{at}" for at, of, said in known if said == text or (subject and not of and _are_alike(said, text))
            ],
        }
        for number, subject, text in claims
    }
    return json.dumps(verdicts)


def _confirm_captures(prompt: str) -> str:
    """Confirm plain statements as typed, and replace what was set aside."""
    from bot.features.capture.statements import capture_statements  # A copy without the feature never gets here.

    known = re.findall(r"^K(\d+)\. (.*?)(?: \[since [\d-]+(, doubted)?\])?$", prompt, re.MULTILINE)
    claims = re.findall(r"^(\d+)\. (.*)$", prompt.rpartition("## Claims")[2], re.MULTILINE)
    number = re.search(r"newest message, \[(\d+)\]", prompt)
    message = re.search(rf"^\[{number[1] if number else 0}\] [^:]*: (.*)$", prompt, re.MULTILINE)
    stated = {" ".join(capture.text.split()) for capture in capture_statements(message[1] if message else "")}
    verdicts = {
        number: {
            "verdict": "follows" if text in stated or any(doubted for _, _, doubted in known) else "unclear",
            "replaces": [f"K{at}" for at, said, doubted in known if doubted and said != text],
            "same": [f"K{at}" for at, said, _ in known if said == text],
        }
        for number, text in claims
    }
    return json.dumps(verdicts)


def _are_alike(said: str, text: str) -> bool:
    """Return whether two sentences share an informative word."""
    first, second = (set(re.findall(r"\w{4,}", one.casefold())) - {"user", "that"} for one in (said, text))
    return bool(first & second)
