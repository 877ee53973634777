"""The few words that code must know to hold a fact against a quote: who speaks, what turns a statement round.

What is not here is not judged: the tables may miss a difference, they hardly ever make one.
"""

from __future__ import annotations

import re

import regex

from memory.text.languages import Language

USER = re.compile(
    r"\W*(?:(?:the|this|der|die|den|dem|des|el|la|al|del|le|lo|l['’]|o|a|d['’]|du|un|eine?)\s*)?"
    r"(?:user|users|human|nutzer(?:in|s)?|benutzer(?:in|s)?|anwender(?:in|s)?|(?:persona )?usuari[oa]|pessoa usuária|"
    r"utilisat(?:eur|rice)|utente|utilizador(?:a)?|usuári[oa]|"
    r"użytkownik(?:a|owi|czka)?|пользовател\w*|юзер\w*|користувач\w*|用户|使用者|用戶|ユーザー)",
    re.IGNORECASE,
)
"""How a fact names who it is about, where that is the user."""
POSSESSIVE = re.compile(r"['’]s?\b|的|の")
"""What follows where it is about something of theirs."""
OF_USER = re.compile(
    r"\W*(?:des|dem|den|del?|al|de l['’]|à l['’]|du|d['’]|de la)\s*(?:nutzer|usuari|utilisat|utente|persona)|"
    r"\W*(?:пользовател(?:я|ю|ем|е)|пользовательниц(?:ы|е|у|ей)|користувач(?:а|у|еві|ем|ки|ку|кою|ці))\b",
    re.IGNORECASE,
)
"""How a fact begins in which the user is not who does it: in another case, or behind a preposition."""
TO_USER = re.compile(
    r"\b(?:dem|den|al|a la|à l['’])\s*(?:nutzer|usuari|utilisat)\w*|"
    r"(?<!de)(?<!chez)(?<!avec)(?<!pour)(?<!par)(?<!que) l['’]utilisat\w+|"
    r"\b(?:пользователю|пользовательниц(?:е|у)|користувач(?:у|еві|ці|ку))\b|"
    r"(?<=\w )(?:the )?users?\b(?!['’])|(?<=\w)(?:用户|用戶)(?!的)",
    re.IGNORECASE,
)
"""Where a fact names the user as one to whom something is done."""


_NEGATIVE = {
    Language.ENGLISH: (
        "no (?:longer|more)|no|not|never|none|nothing|nobody|without|cannot|cant|dont|doesnt|didnt|isnt|arent|wasnt|"
        "werent|wont|wouldnt|"
        "shouldnt|couldnt|hasnt|havent|hadnt|aint|hardly|barely|neither|nor|non|unable"
    ),
    Language.RUSSIAN: r"(?:больше )?не(?: больше)?|нет|неа|нельзя|никогда|без|ни|ничего|никак\w*",
    # Russian's too: of a few words nobody can tell which of the two they are
    Language.UKRAINIAN: (
        r"(?:більше )?не(?: більше)?|больше не|нє|неа|нет|без|ніяк\w*|ні|немає|нема|ніколи|нічого|жодн\w*|нельзя|"
        r"никогда|ничего|никак\w*"
    ),
    Language.GERMAN: r"(?:nicht|nich|ned|net|kein\w*|nie)(?: mehr)?|nix|niemals|ohne|nichts|weder|nimmer|nein|kaum",
    Language.SPANISH: r"ya no|no|nunca|jamás|sin|nada|tampoco|ningun[oa]?|ningún|ni",
    # "ne" alone says no more than "pas" does, and in "ne ... que" it says "only"
    Language.FRENCH: (
        r"pas|jamais|sans|rien|aucun\w*|non|ni|n\w* (?:\w+ )?plus|plus (?:de|du|des|jamais|l[ae]?|les|m(?:on|a|es)|ça)"
    ),
    Language.OTHER: r"no|not|non|não|nie|bez|nigdy|senza|sem|sin|nunca|mai",
}
NEGATIVES: dict[Language, re.Pattern[str]] = {
    Language.HAN: re.compile(r"不再|(?<!有)[不没沒無无](?!过|過|错|錯)|[别別]|未|ない|ません"),
    **{language: re.compile(rf"\b(?:{words})\b") for language, words in _NEGATIVE.items()},
}
"""What negates, in comparable text (lower case, without apostrophes), by language: German "ne" is no French one."""
IDLE_NEGATIVE = re.compile(
    r"(.)不\1|有没有|有沒有|不过|不過|不错|不錯|\bn(?:e)? ?(?:que|qu)\b|"
    r"(?<=\w\w\w)(?<!\bmoi)(?<!\blui)(?<!elle)(?<!nous)(?<!vous) non?$|\bmoi non\b(?= \w)|"
    r"\bwhy not\b|\bnot only\b|\bnicht nur\b|\bне только\b|"
    r"\bне тільки\b|\bno solo\b|\bpas seulement\b|"
    r"\b(?:not|never|nicht|nie|pas|jamais|no|nunca|не) (?:the other way (?:a)?round|vice versa|umgekehrt|andersrum|"
    r"l inverse|le contraire|al revés|наоборот|навпаки)\b|不是反"
)
"""What looks like a negation and is none."""
CONTRAST = re.compile(
    r"(?:[,(]\s*|\b(?:and|und|et|y|e|а|та|и|і|sino|sondern|but|aber|mais|но|але)\s+)"
    r"(?:\b(?:and|und|et|y|e|а|та|и|і)\s+)?\b(?:not|nicht|nich|non|pas|не|no|rather than|instead of)\b\s[^,.;]*|"
    r"[，,]?\s*不是[^，。]*",
    re.IGNORECASE,
)
"""What sets off the right thing from the wrong one at the end: `on Tuesday, not on Monday`."""
SET_OFF = regex.compile(
    r"(?<=\w)(?<!\b(?:is|am|are|was|were|be|been|do|does|did|will|would|shall|should|can|could|may|might|must|has|have|"
    r"had|it['’]?s|i['’]?m|s?he['’]?s|that['’]?s|(?:we|they|you)['’]?re|or|if|why|better|rather|please|just|still|maybe|"
    r"probably|really|usually|often))\s+not\s+(?:(?:on|in|at|to|from|by|the|an?|my)\s+){0,2}\w+\s*(?=$|[,.;!?])|"
    r"(?<=\w)\s+no\s+(?:en|el|la|los|las|al?|con|por|del?)\s+[^,.;!?]+",
    regex.IGNORECASE,
)
"""The same without a comma, where no verb stands before the "not": `my right knee not left`, `en casa no en el bar`."""
WITHOUT = re.compile(r"\b(?:without|ohne|без|sin|sans|senza|sem|bez)\b")
INSTEAD = re.compile(
    r"\b(?:rather than|instead of|(?:an)?statt|вместо|замість|en vez de|en lugar de|au lieu de|plutôt que)"
    r"\s+(?:[^\s,.;]+\s*){1,3}",
    re.IGNORECASE,
)
"""What does not hold, named beside what does: `tea instead of coffee`."""
CORRECTING = re.compile(
    r"\W*(?:(?:no|nope|nah|non|nee|nein|doch|нет|не|нє|ні|неа|ой|ay|oh)\b\s*(?:[,.!:;]+|(?:wait|sorry|pardon)\b)|"
    r"不对|不對|不是(?=\s))\s*",
    re.IGNORECASE,
)
"""A "no," at the beginning: it says that something else was wrong, and negates nothing that follows."""
AVERSE = re.compile(
    r"\b(?:hat(?:e|es|ed|ing)|dislik\w*|avoid\w*|detest\w*|loath\w*|refus\w*|allerg\w*|intoleran\w*|quit\w*|"
    r"stop(?:s|ped)?|gave up|giv\w* up|died|dead|passed away|"
    r"sold|lost|former\w*|used to|ex|anymore|cancel\w*|broke up|split up|separat\w*|scared|afraid|fear\w*|"
    r"can ?t stand|sick of|over it|ditch\w*|dropp\w*|fail\w*|ineffective|forb[aio]d\w*|prohibit\w*|banned|"
    r"запре[тщ]\w*|заборон\w*|verbot\w*|verbiet\w*|untersag\w*|prohíb\w*|prohib\w*|interdi\w*|"
    r"ненави\w*|терпеть|избега\w*|аллерг\w*|алерг\w*|непереносим\w*|бросил\w*|перестал\w*|прода[лнвмж]\w*|бывш\w*|"
    r"раньше|колишн\w*|раніше|ушел|ушла|уволил\w*|расстал\w*|боит\w*|боюсь|боялс\w*|завалил\w*|"
    r"ненавид\w*|терпіти|уника\w*|кинув|кинула|покину\w*|припини\w*|перестав|перестала|отказал\w*|відмов\w*|"
    r"умер\w*|помер\w*|боїться|пішов з|пішла з|звільни\w*|розійш\w*|завалив|завалила|"
    r"hass\w*|meid\w*|unverträg\w*|aufgehört|aufhör\w*|verkauf\w*|ehemalig\w*|früher|verlor\w*|verlassen|angst|"
    r"gekündigt|getrennt|gestorben|verstorben|"
    r"odi[oa]\w*|evit\w*|alérg\w*|alerg\w*|dejé|dejó|dejar|dej[oa]|vend(?:í|i|ió|io|imos|ieron|id\w+)|perd\w*|miedo|rechaz\w*|renunci\w*|"
    r"cort[aé]mos|separ\w*|murió|falleci\w*|muert[oa]|décéd\w*|morte?|"
    r"déteste\w*|évit\w*|arrêt\w*|vendu\w*|ancien\w*|quitt\w*|peur|perdu\w*|démissionn\w*|plaqué\w*|résili\w*|"
    r"smess\w*|vendut\w*|parei|deixei|vendi|nienawidz\w*|rzuci\w*|"
    r"sprzeda\w*)\b|讨厌|討厭|讨嫌|恨|过敏|過敏|戒|卖|賣|以前|曾经|前任|"
    r"禁止|不许|不准|避开|避免|去世|死了|害怕|怕|不再|离开|離開|停|放弃|放棄|辞职|離職|嫌い|アレルギー|やめ|売"
)
"""What turns a liking, a having or a doing round without a negation, in comparable text."""

CLAUSES = re.compile(
    r"[,;:.!?\n(){}\[\]，。！？；、…]+|\s[-–—]+\s|"
    r"\b(?:and|but|while|whereas|because|cause|so|since|though|tho|n|"
    r"und|aber|während|weil|denn|also|sondern|и|а|но|потому|поэтому|та|але|і|бо|тому|y|pero|mientras|porque|"
    r"(?<!tengo )(?<!tiene )(?<!tenemos )(?<!hay )que|"
    r"así|asi|"
    r"et|mais|tandis|donc|car|parce|pis)\b|而|但是?|不过|因为|所以",
    re.IGNORECASE,
)
"""Where one statement ends and the next begins."""
