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
    fit=1.08,
    coverage=3.70,
    surroundings=1.51,
    speaker=2.39,
    names=2.61,
    times=1.67,
    follows_question=0.46,
    is_question=-0.67,
    length_before=-0.24,
    meaning=-0.06,
    bare_meaning=0.67,
    meaning_nearby=0.40,
)
BY_MEANING = Features(
    fit=0.00,
    coverage=0.00,
    surroundings=0.00,
    speaker=1.40,
    names=0.77,
    times=2.00,
    follows_question=0.07,
    is_question=-3.68,
    length_before=-0.29,
    meaning=1.45,
    bare_meaning=1.35,
    meaning_nearby=0.03,
)
ORIGINS = {
    "RANKING": (
        "Fitted on 5 dialogues in LoCoMo's format (locomo-dev.json), 1520 questions; forms: group; private, I and you."
    ),
    "BY_MEANING": (
        "Fitted on 5 dialogues in LoCoMo's format (locomo-dev.json), 2240 questions with vectors of "
        "multilingual-e5-small; forms: group; private, I and you; paraphrases."
    ),
    "WITH_VECTORS": (
        "Fitted on 5 dialogues in LoCoMo's format (locomo-dev.json), 2240 questions with vectors of "
        "multilingual-e5-small; forms: group; private, I and you; paraphrases."
    ),
}
"""What each was fitted on."""
