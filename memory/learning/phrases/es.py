"""Spanish: in which words a wish, a rule, a correction or a change is stated; grammar.py tells how to read it."""

from memory.learning.phrases.grammar import any_of, phrases

_ES_ASKED = any_of(
    "responde contesta escribe usa utiliza emplea llámame llámanos dime di indica pregúntame pregunta pon ponme añade "
    "agrega incluye cita muestra muéstrame dame da haz habla háblame trátame evita convierte pasa "
    "traduce envía envíame "
    "manda mándame menciona termina empieza explica explícame redondea avísame recuérdame busca comprueba verifica "
    "consulta guarda tutéame escríbeme respóndeme contéstame resume formatea cuenta calcula corrige ordena propón "
    "recomiéndame limita deja omite añádeme responda conteste escriba use utilice"
)
_ES_NOT = any_of(
    "uses utilices emplees respondas contestes escribas llames digas pongas añadas agregues incluyas envíes mandes "
    "menciones compartas borres hables des hagas empieces termines preguntes trates guardes cambies toques traduzcas "
    "inventes repitas pidas muestres cites ofrezcas asumas supongas reveles publiques elimines resumas corrijas omitas "
    "recomiendes propongas me_(?:llames|escribas|hables|trates|digas|des|mandes|envíes|preguntes|respondas|contestes) "
    "le_(?:digas|des|escribas|mandes|envíes) se_lo_digas"
)
_ES_INFINITIVE = any_of(
    "responder contestar escribir usar utilizar llamarme decir indicar preguntar(?:me)? poner "
    "añadir agregar incluir citar "
    "mostrar dar hacer hablar tratar(?:me)? evitar convertir pasar traducir enviar mandar mencionar terminar empezar "
    "explicar redondear avisar(?:me)? guardar tutear(?:me)? resumir calcular compartir borrar "
    "revelar respetar ser_breve"
)
_ES_NOW = (
    r"(?:a_partir_de_(?:ahora|hoy|este_momento)|de_ahora_en_adelante|desde_(?:ahora|hoy)|en_adelante|en_lo_sucesivo)"
)
_ES_PASSING = (
    r"(?!_+(?:(?:el|la|lo|los|las|tu|su|est\w|es[aoe]s?|aquel\w*)_(?:primer\w*|segund\w+|tercer\w*|"
    r"últim\w+|otr\w+|de_antes|"
    r"idea|forma|opción)|est[aeo]s?\b|es[aeo]s?\b|aquel\w*|cómo|tu\b|tus\b|lo_que\b|mucho$|mucho,|"
    r"más_el_(?:primer|segund)|"
    r"más_la_(?:primer|segund)|más_(?:est|es[aeo])|la_idea|saber|que_no_hablemos|irme|ir\b|"
    r"no_hablar|verte|verlo|saberlo|la_opción)\w*)"
)
_ES_THINGS = (
    r"(?:respuestas?|precios?|fechas?|textos?|mensajes?|informes?|unidades|recetas?|correos?|"
    r"traducciones|listas?|títulos?|"
    r"código|nombres?|cantidades|números?|notas?|citas?|fuentes?|pruebas|documentos?|resúmenes)"
)
_ES_SAID = (
    r"(?:(?:ella_|él_)?(?:se_llama|me_llamo)_|(?:mi|su|nuestr[oa])_[^,]{2,40}?_(?:se_llama|es)_(?!que\b|no\b|buen)|"
    r"(?:yo_)?(?:vivo_en|trabajo_en|soy_de|nací_)_?|se_escribe_)"
)
PHRASES = phrases(
    r"""
    change (?:(?:yo_)?me_(?:he_)?|nos_(?:hemos_)?)(?:mudé|mudado|mudamos|trasladé|trasladado|trasladamos)_(?:hace
        _poco_)?(?:de|desde)_{old}_a_\w
    change (?:(?:yo_)?me_(?:he_)?|nos_(?:hemos_)?)(?:mudé|mudado|mudamos|trasladé|trasladado|trasladamos)_a_(?!la
        _siguiente|otr|un)\w
    change (?:yo_)?(?:me_(?:pasé|cambié|he_pasado|he_cambiado)|nos_(?:pasamos|cambiamos|hemos_pasado)|(?:he|hemos)
        _(?:cambiado|migrado)|migré)_(?:de|desde)_{old}_a_\w
    change (?:yo_)?(?:cambié|he_cambiado|actualicé)_(?:mi|el)_[^,]{2,40}?_(?:del?|desde)_{old}_al?_\w
    change (?:yo_|nosotros_)?ya_no_(?!sé|puedo|quiero|entiendo|me_acuerdo|recuerdo|hay|importa|hace|es\b|está|me
        _gusta_esto|aguanto|tengo_(?:tiempo|ganas))(?P<old>(?:\w*[oé]|\w+mos|me_\w+|nos_\w+)\b[^,;!?]{2,60}?){end}
    change (?:he_dejado|hemos_dejado|dejé|dejamos)_de_(?P<old>\w+r\b[^,;!?]{0,50}?){end}
    change antes_(?P<old>(?:yo_)?\w+(?:ía|aba|íamos|ábamos)\b[^,;!?]{2,60}?),?_(?:y_|pero_)?ahora\b
    change* (?:cambiamos|hemos_cambiado|he_cambiado|cambié|reemplazamos|sustituimos)_{old}_por_\w
    constraint (?:tú_)?(?:debes|tienes_que|has_de)_(?:siempre_|nunca_)?{infinitive}\b
    constraint (?:(?:todas?_las|todos_los|las|los|tus|mis|cada|cualquier)_)?(?:\w+_)?{things}_(?:siempre_)?(?:deben
        |debe|tienen_que|tiene_que|han_de)_\w
    constraint (?:nunca_)?(?:bajo_ning(?:ún|una)_(?:concepto|circunstancia|pretexto)|en_ningún_caso|de_ninguna
        _manera)_\w
    constraint (?:jamás|nunca_jamás)_{not}\b
    constraint (?:es_(?:obligatorio|imprescindible)|está_prohibido|queda_prohibido)_(?:siempre_)?{infinitive}\b
    rule (?:siempre)_{asked}\b
    rule (?:nunca|no)_{not}_[^!?]{0,80}?(?:nunca|jamás|más)\b(?!_de\b)
    rule nunca_(?:más_)?{not}\b(?!_nunca)
    rule {asked}_(?:(?:me|el|la|los|las)_)?(?:\w+_){0,2}?(?:siempre|solo_y_siempre)\b
    rule {now},?_(?!(?:voy|vamos|quiero|iré|soy|estoy|no_voy)\b)\w
    rule (?:en_el_futuro|para_el_futuro|en_adelante),?_(?:por_favor,?_)?(?:no_{not}|{asked})\b
    rule (?:cada_vez_que|siempre_que)_[^!?]{3,80}?,_(?:por_favor,?_)?{asked}\b
    rule cuando_(?:me_|te_|yo_)[^!?]{3,80}?_{asked}_(?:\w+_)?siempre\b
    preference (?:(?:yo|nosotros)_)?(?:siempre_|normalmente_)?(?:prefiero|preferimos|preferiría|odio|odiamos|detesto
        |adoro|amo){passing}_+\w
    preference (?:a_(?:mí|nosotros)_)?(?:no_)?(?:me|nos)_(?:gustan?|encantan?|molestan?|agradan?|disgustan?)(?:
        _(?:mucho|muchísimo|más|bastante|nada))?{passing}_+\w
    preference (?:yo_)?no_(?:soporto|soportamos|aguanto){passing}_+\w
    preference mis?_\w[^,.!?]{1,40}?_(?:favorit|preferid)[oa]s?_(?:es|son)_\w
    correction* (?:no|mal)[,.:!]_*{said}
    correction* (?:en_realidad|de_hecho|más_bien)[,.]?_+{said}
    correction* (?:no[,.]_)?(?:es_)?no_(?:es_|era_)?(?!solo|sólo|solamente|tan\b|est[oe]\b|es[oe]\b)(?:(?:el|la|en
        |de|con|a)_)?{old},?_sino_(?!que|también|aquel|es[oe]\b|est[oe]\b)[^,]{2,50}$
    correction* (?:no[,.]_)?(?:quería_decir|quise_decir|me_refería_a|dije|se_llama|es|mi_\w+_(?:es|se_llama))
        _[^,]{2,60}?,_(?:y_)?no_(?:(?:el|la|en|a)_)?{old}{end}
    correction* (?:te_equivocas|eso_(?:no_es_(?:cierto|correcto|así)|está_mal|es_(?:falso|incorrecto))
        |incorrecto)[,.:;]_*\w
    correction correcci[óo]n[:,.]_*\w
    """,
    asked=_ES_ASKED,
    infinitive=_ES_INFINITIVE,
    now=_ES_NOW,
    passing=_ES_PASSING,
    things=_ES_THINGS,
    said=_ES_SAID,
    **{"not": _ES_NOT},
)
