"""What each feature counts in the ranking. Written by `python -m benchmarks.fit_ranking PATH --write`."""

from memory.search.features import Features

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
    fit=1.32,
    coverage=4.07,
    surroundings=1.39,
    speaker=2.21,
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
