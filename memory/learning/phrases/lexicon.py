"""Words of all seven languages that stand around a statement, or that make it none."""

from __future__ import annotations

import re

from memory.learning.phrases.grammar import compiled

OPENERS = compiled(
    r"(?:\d{1,2}[.)]_)?[-–—•*·…,.:!(_]*(?:(?:"
    # English
    r"please|pls|plz|hey|hi|hello|okay|ok|well|so|and|but|also|oh|ah|yes|yeah|btw|by_the_way|fyi|honestly|"
    r"to_be_honest|tbh|personally|frankly|sorry|generally|in_general|as_a_rule|for_the_record|one_more_thing|thanks|"
    r"thank_you|just_so_you_know|just_to_let_you_know|(?:please_)?(?:note|keep_in_mind|know)_that|for_your_information|"
    # Russian and Ukrainian
    r"пожалуйста|плиз|привет|слушай|ок|да|и|а|но|ещё|еще|кстати|честно_говоря|честно|вообще|лично|извини|прости|"
    r"имей_в_виду|имейте_в_виду|учти|к_слову|если_что|на_будущее|просто|спасибо|вообще-то|"
    r"будь_ласка|привіт|слухай|так|і|й|але|ще|до_речі|чесно_кажучи|чесно|взагалі|особисто|вибач|пробач|"
    r"май_на_увазі|майте_на_увазі|врахуй|якщо_що|на_майбутнє|дякую|взагалі-то|"
    # German
    r"bitte|hallo|hi|du|also|ja|und|aber|ach|übrigens|ehrlich_gesagt|persönlich|sorry|entschuldigung|grundsätzlich|"
    r"nur_zur_info|zur_info|nur_damit_du_es_weißt|noch_was|danke|"
    # Spanish
    r"por_favor|porfa|hola|oye|vale|bueno|pues|sí|y|pero|ah|por_cierto|la_verdad_es_que|la_verdad|sinceramente|"
    r"perdona|perdón|en_general|para_que_lo_sepas|que_sepas_que|ten_en_cuenta_que|gracias|"
    # French
    r"s'il_(?:te|vous)_pla[iî]t|stp|svp|salut|bonjour|alors|bon|ben|oui|et|mais|au_fait|franchement|honnêtement|"
    r"pardon|désolée?|en_général|pour_info|pour_information|sache_que|note_que|merci|moi"
    r")\b[,.:!…–—_-]*"
    # Chinese
    r"|(?:请|麻烦你?|你好|嗯|哦|对了|顺便说一下|顺便|说实话|老实说|跟你说一下|另外|还有|拜托|不好意思|"
    r"抱歉)[，,：:。！_]*){0,4}"
)
ACTUALLY = compiled(
    r"(?:(?:actually|in_fact|на_самом_деле|насправді|eigentlich|en_realidad|de_hecho|en_fait|"
    r"en_réalité)\b|其实|实际上)[,，_]*"
)

QUESTIONS = compiled(
    # a question whose mark was left out, or a statement that turns into a request
    r"[?？]|吗[。！!]?$|(?:怎么说|什么意思|你推荐什么|怎么样|为什么)"
    r"|,_(?:what|which|how|could_you|can_you|should_i|do_you|is_it|isn't_it|right|что_|как_|можешь|"
    r"що_|чи_|можеш_|was_|kannst_du|"
    r"oder|qué_|puedes|verdad|quoi|peux-tu|tu_peux)\b[^,]*$"
    r"|\b(?:quoi|lol|haha+|jk)$|,_(?:he|she|they|the_\w+|my_\w+)_(?:says?|said|told_me)$"
)
"""What makes any sentence one that states nothing."""

MOMENTS = compiled(
    r"\b(?:now|right_now|tonight|today|tomorrow|this_time|for_now|at_the_moment|сейчас|сегодня|"
    r"завтра|зараз|сьогодні|завтра|"
    r"heute|morgen_(?:früh|abend)|gerade|diesmal|hoy|mañana_por|ahora_mismo|esta_vez|maintenant|aujourd'hui|demain|"
    r"cette_fois)\b|今天|明天|这次|现在"
)
"""What makes a wish or a duty one of the moment."""

REQUESTS = compiled(
    r"remember(?:_this|_that|:)|запомни|запам'ятай|merke?_dir|recuerda\b|souviens-toi|retiens\b|记住|記住"
)
"""How a request to remember begins: it is written down elsewhere."""

ABBREVIATIONS = frozenset(
    "dr mr mrs ms prof st no vs etc e.g i.e approx ca jr sr inc ltd tel "
    "г ул д т.д т.п т.е т.к им стр руб тыс напр вул тис грн і.т.д "
    "z.b d.h bzw usw nr str hr fr evtl ggf u.a sog inkl "
    "sra srta ud uds p.ej pág av núm mme mlle p.ex env".split()
)
"""Words whose full stop ends no sentence, without that stop, in lower case."""

EMPTY_WORDS = frozenset(
    "always never ever again actually no not please one ones that this these those it thing things rather instead just "
    "всегда никогда больше нет это этот эта эти тот та вот так просто то "
    "завжди ніколи більше ні це цей ця ці той та ось так просто те оцей "
    "immer nie niemals wieder nein nicht das dies diese dieser doch eigentlich "
    "siempre nunca jamás más no eso esto ese esa este esta aquello "
    "toujours jamais plus non pas ça cela ceci celui-là celui-ci ce cette".split()
)
"""Words that mean nothing outside of the talk, beyond the stop words of the index."""

EMPTY_HAN = frozenset("我你您他她它们的了是不这那个在也都就吧吗呢啊很太更最再永远总请")
"""The same for characters of Chinese."""

CALENDAR = compiled(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|june|july|"
    r"august|september|october|"
    r"november|december|januar|februar|märz|mai|juni|juli|oktober|dezember|понедельник\w*|"
    r"вторник\w*|сред[ауые]|четверг\w*|пятниц\w*|суббот\w*|воскресень\w*|понеділ\w+|"
    r"вівтор\w+|серед[ауи]|четвер\w*|п'ятниц\w+|субот\w+|неділ\w+|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|"
    r"lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|"
    r"января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря|січня|"
    r"лютого|березня|квітня|травня|"
    r"червня|липня|серпня|вересня|жовтня|листопада|грудня|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|"
    r"octubre|noviembre|diciembre|janvier|février|mars|avril|mai|juin|juillet|août|septembre|"
    r"octobre|novembre|décembre)\b"
    r"|[周星][期一二三四五六日天]"
)
"""Days and months that are written in lower case: they count as names."""

LEADING_WORDS = compiled(
    r"(?:on|the|at|in|my|our|to|в|во|на|с|со|из|у|до|з|зі|із|am|den|dem|der|das|die|bei|um|beim|el|la|los|las|al|del|"
    r"le|les|du|chez|au|un|une)_+|(?:l'|d')"
)
"""What stands before the words that hold no longer and is not a part of them."""

TRAILING_DAY = re.compile(
    r"\s*\b(?:yesterday|today|now|recently|(?:last|this)\s(?:week|month|year|summer|winter)|for good|"
    r"вчера|сегодня|теперь|недавно|на прошлой неделе|в прошлом (?:году|месяце)|навсегда|"
    r"вчора|сьогодні|тепер|нещодавно|минулого (?:тижня|місяця|року)|"
    r"gestern|heute|jetzt|letzte(?:n|s)?\s(?:woche|monat|jahr)|ayer|hoy|ahora|la semana pasada|el (?:mes|año) pasado|"
    r"hier|aujourd['’]hui|maintenant|la semaine dernière|le mois dernier|l['’]an dernier)$",
    re.IGNORECASE,
)
"""When something became what it is now: no part of what it has become."""

TRAILING_TIME = compiled(
    r"_+(?:in|im|в|у|en|since|last|seit|depuis|desde)_+(?:january|february|march|april|may|june|july|august|september|"
    r"october|november|december|januar|februar|märz|mai|juni|juli|oktober|dezember|(?:январ|феврал|"
    r"март|апрел|ма|июн|июл|"
    r"август|сентябр|октябр|ноябр|декабр|січн|лют|берез|квіт|трав|черв|лип|серп|верес|жовт|листопад|груд)\w{1,3}|enero|"
    r"febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|janvier|"
    r"février|mars|avril|juin|"
    r"juillet|août|septembre|octobre|novembre|décembre|[12]\d{3})$|_+any_?more$"
)
"""When something came to an end: no part of the words that hold no longer."""
