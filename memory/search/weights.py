"""What each feature counts in the ranking. Written by `python -m benchmarks.fit_ranking PATH --write`."""

from memory.search.features import Features

RANKING = Features(
    fit=3.20,
    coverage=3.78,
    surroundings=2.35,
    speaker=2.18,
    speaks_of_self=0.53,
    names=2.86,
    times=1.79,
    follows_question=0.57,
    is_question=-0.49,
    length_before=-0.23,
    meaning=0.00,
    bare_meaning=0.00,
    meaning_nearby=0.00,
)
WITH_VECTORS = Features(
    fit=1.32,
    coverage=4.07,
    surroundings=1.39,
    speaker=2.21,
    speaks_of_self=0.48,
    names=2.73,
    times=1.70,
    follows_question=0.38,
    is_question=-0.58,
    length_before=-0.27,
    meaning=0.07,
    bare_meaning=0.50,
    meaning_nearby=0.41,
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
