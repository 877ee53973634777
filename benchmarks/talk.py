"""Talk such as stands around questions in real messages: at least 24 words, for a question the same at every run.

It asks nothing, has to do with no conversation, and was written before any code was run on it. A line is a half of it.
"""

from __future__ import annotations

import random
from enum import StrEnum

HALVES = """
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
LEADS = ("", "", "", "Anyway, ", "By the way: ", "oh and ")
"""What a question that stands behind something may begin with."""
ENDS = (".", "\n", "...")
"""What ends a question without its mark."""


class Place(StrEnum):
    """Where talk stands."""

    BEFORE = "before"
    AFTER = "after"
    AROUND = "around"


def inside_talk(question: str, place: Place, *, is_marked: bool = True) -> str:
    """A question with talk before it, after it, or half of it on each side. is_marked: with its question mark."""
    source = random.Random(f"{place}: {question}")
    first, second = source.sample(HALVES.strip().splitlines(), 2)
    lead, end = source.choice(LEADS), source.choice(ENDS)
    asked = question if is_marked and question.endswith(("?", ".")) else question.rstrip("?. ") + end
    led = f"{lead}{asked[0].lower()}{asked[1:]}" if lead else asked
    if place is Place.AFTER:
        return f"{asked} {first} {second}"
    return f"{first} {second} {led}" if place is Place.BEFORE else f"{first} {led} {second}"
