"""What the page says, in the language that is spoken. The page itself holds no words."""

from __future__ import annotations

from config.texts import N_, _

TEXTS = {
    "title": N_("What I remember"),
    "timeline": N_("Memories"),
    "conversations": N_("Conversations"),
    "changes": N_("Changes"),
    "file": N_("Notes file"),
    "last": N_("Last answer"),
    "import": N_("Import"),
    "search": N_("Search memories and conversations"),
    "all": N_("All"),
    "live": N_("In use"),
    "unsure": N_("To confirm"),
    "past": N_("Past"),
    "more": N_("Show more"),
    "nothing": N_("Nothing here yet."),
    "not_found": N_("I found nothing about that."),
    "open_conversation": N_("Show the conversation"),
    "replaced_by": N_("Replaced by"),
    "holds_until": N_("Until"),
    "holds_since": N_("Since"),
    "fades": N_("Fades after"),
    "strength": N_("Strength"),
    "archived": N_("Archived"),
    "edit": N_("Edit"),
    "save": N_("Save"),
    "cancel": N_("Cancel"),
    "confirm": N_("Right"),
    "forget": N_("Forget"),
    "undo": N_("Undo"),
    "confirm_all": N_("Confirm all that was imported"),
    "no_changes": N_("There is nothing to undo."),
    "review": N_("Review changes"),
    "removed": N_("Removed"),
    "added": N_("Added"),
    "no_difference": N_("Nothing is changed."),
    "tokens": N_("tokens"),
    "last_none": N_("No memory was used for your last message."),
    "in_file": N_("Always part of it, from the notes file"),
    "choose_file": N_("Choose a file, or drop it here"),
    "import_now": N_("Import it"),
    "importing": N_("Importing…"),
    "messages": N_("messages"),
    "by_month": N_("Learned by month"),
    "you": N_("You"),
    "assistant": N_("Assistant"),
    "lost": N_("The page lost its connection: run mneme web again."),
    "back": N_("Back"),
}


def page_texts() -> dict[str, str]:
    """All of them, by their names."""
    return {name: _(text) for name, text in TEXTS.items()}
