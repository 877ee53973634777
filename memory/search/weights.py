"""What each feature counts in the ranking. Written by `python -m benchmarks.fit_ranking PATH --write`."""

from memory.search.types import Features

RANKING = Features(
    fit=3.24,
    coverage=3.85,
    surroundings=2.27,
    speaker=2.37,
    names=2.91,
    times=1.86,
    follows_question=0.59,
    is_question=-0.53,
    length_before=-0.25,
    meaning=0.00,
    bare_meaning=0.00,
    meaning_nearby=0.00,
)
WITH_VECTORS = Features(
    fit=1.86,
    coverage=3.95,
    surroundings=1.53,
    speaker=2.28,
    names=2.56,
    times=1.81,
    follows_question=0.67,
    is_question=-0.77,
    length_before=-0.30,
    meaning=-0.11,
    bare_meaning=0.55,
    meaning_nearby=0.41,
)
BY_MEANING = Features(
    fit=0.00,
    coverage=0.00,
    surroundings=0.19,
    speaker=1.13,
    names=0.77,
    times=1.94,
    follows_question=0.12,
    is_question=-3.35,
    length_before=-0.31,
    meaning=1.36,
    bare_meaning=1.31,
    meaning_nearby=0.13,
)
ORIGINS = {
    "RANKING": (
        "Fitted on 5 dialogues in LoCoMo's format (locomo-dev.json), 1520 questions; forms: group; private, I and you."
    ),
    "BY_MEANING": (
        "Fitted on 5 dialogues in LoCoMo's format (locomo-dev.json), 3000 questions with vectors of "
        "multilingual-e5-small; forms: group; private; private, I and you; paraphrases."
    ),
    "WITH_VECTORS": (
        "Fitted on 5 dialogues in LoCoMo's format (locomo-dev.json), 3000 questions with vectors of "
        "multilingual-e5-small; forms: group; private; private, I and you; paraphrases."
    ),
}
"""What each was fitted on."""
