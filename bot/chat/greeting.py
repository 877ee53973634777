"""What the bot says of itself first: in three lines, what is different with it."""

from __future__ import annotations

from config.texts import N_, _

_REMEMBERS = N_("""\
I am Mneme, and I remember what we talk about. Just write to me.

- What you tell me I know next month, too: I keep what matters, with the words that it comes from.
- You are in charge of it: /memory shows all of it, /undo and /forget take it back.
- {whose}""")
_OWN = N_("It is yours: kept on the computer that runs me, and it comes up in no other chat.")
_SHARED = N_("It is kept on the computer that runs me, as one memory for all chats that are let in here.")
_FORGETS = N_("""\
I am Mneme. Just write to me.

- I know what was said in this conversation, also when it gets long: then I summarise its beginning.
- What goes beyond it is not remembered: that is switched off here (MEMORY_ENABLED).
- All of it is kept on the computer that runs me, and comes up in no other chat.""")


def greeting(*, remembers: bool, shared: bool) -> str:
    """The first words. remembers: whether memory is on; shared: whether all chats have one."""
    if not remembers:
        return _(_FORGETS)
    return _(_REMEMBERS, whose=_(_SHARED if shared else _OWN))
