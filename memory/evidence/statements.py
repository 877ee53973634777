"""Which messages state something, and which only ask."""

from __future__ import annotations

import re

from memory.text.words import is_small_talk

# one sentence that asks for something, and says nothing about who asks
_REQUEST = re.compile(
    r"(?:please\s|can you\s|could you\s|пожалуйста,?\s|будь ласка,?\s|bitte\s|por favor,?\s)?"
    r"(?:(?:tell|show|teach) me|explain|describe|translate|summari[sz]e|list|calculate|compare|recommend|suggest|"
    r"define|write|(?:рас)?скажи(?:те)?|расскажи(?:те)?|объясни(?:те)?|опиши(?:те)?|переведи(?:те)?|напиши(?:те)?|покажи(?:те)?|"
    r"розкажи|поясни|опиши|переклади|покажи|erzähl\w*|erklär\w*|beschreib\w*|übersetz\w*|schreib\w*|zeig\w*|"
    r"cuéntame|dime|explica|describe|traduce|escribe|muéstrame|dis-moi|raconte|explique|décris|traduis|écris|montre)\b"
    r"[^.!?\n]*[.!]*|请?(?:告诉我|解释|描述|翻译|写)[^。！？\n]*[。！]*",
    re.IGNORECASE,
)


def is_statement(text: str) -> bool:
    """Whether `text` states something: it is no question, no mere request and no greeting."""
    asks = text.rstrip().endswith(("?", "？")) or _REQUEST.fullmatch(text.strip())
    return not asks and not is_small_talk(text)
