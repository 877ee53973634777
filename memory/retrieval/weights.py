"""What each feature counts in the ranking. Written by `python -m benchmarks.fit_ranking PATH --write`.

Fitted on 5 dialogues in LoCoMo's format (locomo-dev.json), 1520 questions
in these forms: group; private, I and you.
"""

from memory.retrieval.features import Features

RANKING = Features(
    fit=3.02,
    coverage=3.79,
    own=0.18,
    surroundings=2.34,
    speaker=2.21,
    speaks_of_self=0.47,
    names=2.93,
    times=1.79,
    follows_question=0.56,
    is_question=-0.49,
    length_before=-0.22,
)
