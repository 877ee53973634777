"""Talk around questions, as in real messages: about 10, 16, 24 or 40 words, always the same for a question.

It asks nothing, is unrelated to the conversations, and was written before any code was run on it. This module also
rewords a question, as a model may do for a lookup, using only its own words.
"""

from __future__ import annotations

import random
import re
from enum import StrEnum

from memory.text.words import extract_sought_parts

LONG = """
The bus broke down again this morning. I walked the last mile home.
Sorry for the late reply, my phone was charging in the other room.
What a week! Nothing but meetings, and the heating is still not fixed.
I am on the train right now, so I only have ten minutes.
My neighbour keeps drilling. I will never finish this report in time.
Lunch was soup from a tin... better than nothing, I suppose, but hardly.
It rained the whole weekend here, so we mostly stayed in and read.
Quick thing before the call starts. I have cold coffee and no charger.
You will laugh: I locked myself out and had to ring the landlord.
The new keyboard arrived today :) it is much louder than I expected.
Long day. The printer jammed twice and then the lift got stuck, too.
I was cleaning out the drawers earlier and found so many old receipts.
Been thinking a lot lately, maybe because the evenings are getting darker now.
Okay so the parcel finally came, wrong colour of course, never mind that.
The moon is huge tonight!! Everybody is on their balcony, and I can't sleep.
Somebody parked across our drive again and I had to take a taxi.
I promised myself an early night but here I am, typing at midnight.
Honestly, I could do with a holiday; the office is freezing this month.
The dentist says everything is fine, which is a relief after last year.
We tried that little place on the corner. The noodles were far too salty.
My head is full of numbers today; the tax forms are due soon.
Good news first, the car passed its inspection and it cost next to nothing.
There is a wasp in the kitchen and nobody here dares to move.
Just back from a run, out of breath, soaked, and strangely happy about it.
I keep losing my glasses. This time they were inside the fridge, really.
The trains are on strike tomorrow, so I will be working from home.
Our wifi dropped out four times during the film, which was boring anyway.
A friend of a friend asked me something yesterday, and I went blank.
I'm writing this in a queue that has not moved for an hour!
They repainted the stairwell green. Everybody hates it, but at least it is clean.
The market was packed today, I only got onions and a bunch of dill.
Nobody told me that the shops close early now, so supper is toast.
"""
SHORT = """
So, back home at last.
I am so tired today.
The kettle is broken again.
It has been raining since.
My phone is almost empty.
The stairs nearly killed me.
That soup was too hot.
We missed the early bus.
The cat woke me twice.
I burnt the toast again.
Everyone here has a cold.
The lift is stuck again.
I just found my gloves.
The radio plays old songs.
My shoes are still wet.
They closed the little bakery.
"""
PARTS = {10: (SHORT, SHORT), 16: (LONG, SHORT), 24: (LONG, LONG), 40: (LONG, LONG, LONG, SHORT)}
"""Lists of lines that make up talk of a given number of words."""
LEADS = ("", "", "", "Anyway, ", "By the way: ", "oh and ")
"""Starts of a question that follows other text."""
ENDS = (".", "\n", "...")
"""Ends of a question without its question mark."""


class TalkPosition(StrEnum):
    """Position of talk relative to the question."""

    BEFORE = "before"
    AFTER = "after"
    AROUND = "around"


class Style(StrEnum):
    """Style of a question and the talk around it."""

    MARKED = "marked"
    UNMARKED = "no mark"
    TRANSCRIPT = "transcript"
    """No punctuation and no capitals, as in some transcripts of speech."""


def put_inside_talk(question: str, place: TalkPosition, words: int = 24, style: Style = Style.MARKED) -> str:
    """Put talk of a given number of words before, after or around a question."""
    source = random.Random(f"{place}: {question}")
    parts: list[str] = []
    for lines in PARTS[words]:
        parts.append(source.choice([line for line in lines.strip().splitlines() if line not in parts]))
    lead, end = source.choice(LEADS), source.choice(ENDS)
    asked = question if style is not Style.UNMARKED and question.endswith(("?", ".")) else question.rstrip("?. ") + end
    led = f"{lead}{asked[0].lower()}{asked[1:]}" if lead else asked
    before = {TalkPosition.BEFORE: len(parts), TalkPosition.AFTER: 0, TalkPosition.AROUND: len(parts) // 2}[place]
    message = " ".join([*parts[:before], led if before else asked, *parts[before:]])
    return to_transcript(message) if style is Style.TRANSCRIPT else message


def to_transcript(message: str) -> str:
    """Remove punctuation and capitals."""
    return " ".join(re.sub(r"[^\w\s'’]|(?<!\w)['’]|['’](?!\w)", " ", message.lower()).split())


def generate_wordings(question: str) -> list[str]:
    """Return up to five wordings: the question, its informative words, each half of these, and the longest ones."""
    words = extract_sought_parts(question)[0]
    half = (len(words) + 1) // 2
    longest = sorted(words, key=len)[-2:]
    return [*dict.fromkeys(filter(None, (question, *map(" ".join, (words, words[:half], words[half:], longest)))))]
