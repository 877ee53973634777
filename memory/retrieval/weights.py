"""What each feature counts in the ranking. Written by `python -m benchmarks.fit_ranking PATH --write`.

Fitted on 5 dialogues in LoCoMo's format (locomo-dev.json), 1520 questions in
these forms: group; private, I and you.
"""

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

WITH_VECTORS = Features(2.05, 4.02, -0.47, 1.16, 2.2, 0.5, 2.77, 1.73, 0.38, -0.57, -0.26, 0.07, 0.5, 0.34, 0.16)

WITH_PAIRS = WITH_VECTORS

ORIGINS = {"RANKING": "x", "WITH_VECTORS": "y"}
