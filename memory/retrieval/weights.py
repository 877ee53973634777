"""What each feature counts in the ranking. Written by `python -m benchmarks.fit_ranking PATH --write`.

Fitted on 5 dialogues in LoCoMo's format (locomo-dev.json), 1520 questions in
these forms: group; private, I and you.
"""

from dataclasses import replace

from memory.retrieval.features import Features

RANKING = Features(
    fit=2.91,
    coverage=3.67,
    own=0.28,
    surroundings=2.55,
    speaker=2.23,
    speaks_of_self=0.48,
    names=3.00,
    times=1.80,
    follows_question=0.54,
    is_question=-0.54,
    length_before=-0.21,
)

WITH_VECTORS = replace(RANKING, meaning=1.0, bare_meaning=3.0, meaning_nearby=1.0, meaning_of_conversation=1.0)

OF_PAIR = 3.0

ORIGINS = {"RANKING": "x", "WITH_VECTORS": "y"}
