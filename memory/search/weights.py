"""What each feature counts in the ranking. Written by `python -m benchmarks.fit_ranking PATH --write`."""

from memory.search.features import Features

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
    meaning=0.00,
    bare_meaning=0.00,
    meaning_nearby=0.00,
)
WITH_VECTORS = Features(
    fit=2.05,
    coverage=4.02,
    own=-0.47,
    surroundings=1.16,
    speaker=2.20,
    speaks_of_self=0.50,
    names=2.77,
    times=1.73,
    follows_question=0.38,
    is_question=-0.57,
    length_before=-0.26,
    meaning=0.07,
    bare_meaning=0.50,
    meaning_nearby=0.34,
)
ORIGINS = {
    "RANKING": (
        "Fitted on 5 dialogues in LoCoMo's format (locomo-dev.json), 1520 questions; forms: group; private, I and you."
    ),
    "WITH_VECTORS": (
        "Fitted on 5 dialogues in LoCoMo's format (locomo-dev.json), 1520 questions with vectors of bge-"
        "small-en-v1.5; forms: group; private, I and you."
    ),
}
"""What each was fitted on."""
