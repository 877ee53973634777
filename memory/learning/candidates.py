"""Which sentences of a message may hold something lasting: recall before precision, and nothing is written.

What is captured at once has to be certain; a model that makes memory of a conversation later can weigh what is not. So
a sentence is marked unless it clearly holds nothing: a bare question or request, an acknowledgement, a mood of the
moment, words of others. It takes some microseconds, since no phrase is tried.
"""

from __future__ import annotations

import re

from memory.learning.capture import starts
from memory.learning.phrases.grammar import grammar_of
from memory.learning.sentences import sentences
from memory.text.words import is_small_talk

# "I", "we", "my", "our" and their forms, also inside a question: "what can I cook, I don't eat nuts"
_OF_ONESELF = re.compile(
    r"\b(?:i|i'?m|im|i'?ve|me|my|mine|we|we'?re|our|us|myself|"
    r"я|мы|мне|меня|мной|мо[йяеёию]\w*|наш\w*|нам|нас|ми|мені|мене|мій|моїй?|моє\w*|мого|мою|"
    r"ich|wir|mich|mir|mein\w*|unser\w*|uns|yo|mi|mis|me|nos|nuestr\w+|conmigo|soy|tengo|vivo|trabajo|estoy|"
    r"je|moi|mon|ma|mes|nous|notre|nos|on)\b|\bj'|\bm'|[我俺咱]",
    re.IGNORECASE,
)
# what is to hold always, or holds no longer, or was decided
_LASTING = re.compile(
    r"\b(?:always|never|every|each|must|mustn'?t|should|don'?t|only|no longer|anymore|from now on|actually|no,|wrong|"
    r"decided?|agreed|remember|forget|note|call|prefer\w*|favou?rite|allerg\w*|birthday|moved|sold|quit|stop|"
    r"всегда|никогда|кажд\w+|долж\w+|нельзя|только|больше не|теперь|решил\w*|договорил\w*|запомни\w*|забудь|нет,|"
    r"завжди|ніколи|кожн\w+|повин\w+|мають|має|не можна|тільки|лише|більше не|тепер|виріши\w+|домови\w+|запам\w+|ні,|"
    r"immer|nie|niemals|jede\w*|muss|müssen|darf|dürfen|nur|nicht mehr|ab jetzt|beschlossen|entschieden|merke?|nein,|"
    r"siempre|nunca|jamás|cada|todos?|todas?|deben?|solo|ya no|ahora|decidi\w+|hemos|recuerda|acuérdate|olvides|"
    r"toujours|jamais|chaque|tous|toutes|doi\w+|faut|plus|désormais|décidé\w*|souviens|retiens|oublie|non,)(?!\w)|"
    r"总是|永远|每|必须|不要|别|不能|只|不再|决定|商量|说好|记住|记得|以后|从现在|改成|其实|不是|过敏|喜欢|讨厌",
    re.IGNORECASE,
)
# a name or a number within a sentence
_NAME = re.compile(r"\d|(?<=[\w,:] )[^\W\d_a-zа-яіїєґ]\w")
_ASIDE = re.compile("[,;:，；—–-]")
_QUESTION = re.compile(r"[?？]\W*$")
_MOST = 6
"""Sentences that are marked in one message."""


def candidates(text: str) -> tuple[str, ...]:
    """The sentences of `text`, one message as typed, that may hold something lasting; verbatim, in their order."""
    found = []
    for sentence, plain in sentences(text):
        if _may_last(plain):
            found.append(sentence)
        if len(found) == _MOST:
            break
    return tuple(found)


def _may_last(plain: str) -> bool:
    if is_small_talk(plain):
        return False
    of_oneself = _OF_ONESELF.search(plain) is not None
    lasting = _LASTING.search(plain) is not None
    grammar = grammar_of(plain)
    start, _ = starts(plain, 0, grammar)[0]
    if _QUESTION.search(plain) or grammar.requests.match(f" {plain[start:]}"):
        # what is asked for is no fact, but what is said beside it may be one
        is_aside, is_named = _ASIDE.search(plain) is not None, _NAME.search(plain) is not None
        return lasting or (of_oneself and (is_aside or is_named)) or (is_aside and is_named)
    return lasting or grammar.moments.search(plain) is None or _NAME.search(plain) is not None
