"""French: in which words a wish, a rule, a correction or a change is stated; grammar.py tells how to read it."""

from memory.learning.phrases.grammar import any_of, phrases

_FR_ASKED = (
    r"(?:(?:répond|écri|écriv|utilis|emploi|employ|indiqu|demand|di|dit|met|mett|ajout|inclu|cit|"
    r"montr|donn|fai|fait|parl|"
    r"évit|converti|convertiss|tradui|traduis|envoi|envoy|mentionn|termin|commenc|expliqu|arrondi|"
    r"prévien|préven|rappell|"
    r"rappel|cherch|vérifi|gard|tutoi|tutoy|vouvoi|vouvoy|précis|partag|effac|supprim|divulgu|"
    r"appell|appel|résum|propos|"
    r"recommand|corrig|compt|calcul|trait|laiss|signal|suppos|invent|répèt|répét|publi|révèl|touch|"
    r"chang|rédig|pass|prend|"
    r"pren)(?:e|es|s|ds|ts|ez|dez|ons)?)"
)
_FR_INFINITIVE = any_of(
    "(?:m'|me_|l'|le_|les_)?(?:répondre écrire utiliser employer indiquer demander dire mettre "
    "ajouter inclure citer montrer "
    "donner parler éviter convertir traduire envoyer mentionner terminer commencer expliquer "
    "arrondir prévenir vérifier "
    "garder tutoyer vouvoyer préciser partager effacer supprimer divulguer appeler résumer proposer "
    "recommander corriger "
    "calculer respecter laisser révéler être_bref)"
)
_FR_NOW = r"(?:à_partir_de_(?:maintenant|aujourd'hui)|dorénavant|désormais|à_compter_d[e']_?(?:maintenant|aujourd'hui))"
_FR_PASSING = (
    r"(?!_+(?:(?:la|le|l'|ta|ton|cette|ce)_?(?:premi\w+|deuxi\w+|second\w*|troisi\w+|derni\w+|autre|"
    r"idée|façon|option|fait_que_tu)|"
    r"ça$|ça,|cel\w+|ceci|cette|ce\b|ces\b|ta\b|ton\b|tes\b|ne_pas_en|comment|merci|bien,|bien$|"
    r"y_aller|partir|rester|te\b|toi\b|l'option)\b)"
)
_FR_THINGS = (
    r"(?:réponses?|prix|dates?|textes?|messages?|rapports?|unités|recettes?|e?-?mails?|traductions?|"
    r"listes?|titres?|code|noms?|"
    r"montants?|nombres?|notes?|citations?|sources?|tests?|documents?|résumés?)"
)
_FR_SAID = (
    r"(?:(?:elle|il|je|ça)_+(?:s'|m')(?:appelle|écrit)_|(?:mon|ma|notre|son|"
    r"sa)_[^,]{2,40}?_(?:s'appelle|est)_(?!que\b|pas\b|bon)|"
    r"(?:j'habite|je_vis|je_travaille|je_viens_de|je_suis_né\w?)_)"
)
_FR_I = r"(?:(?:je|j'|nous|on)_?)"
PHRASES = phrases(
    r"""
    change (?:j'ai|on_a|nous_avons)_(?:(?:récemment|enfin)_)?(?:déménagé|emménagé)_(?:récemment_)?(?:de_|d'|du
        _){old}_(?:à|vers|au|en|pour)_\w
    change (?:j'ai|on_a|nous_avons)_(?:(?:récemment|enfin)_)?(?:déménagé|emménagé)_(?:récemment_)?(?:à|au|en)
        _(?!cause)\w
    change (?:je_suis|on_est|nous_sommes)_(?:(?:récemment|enfin)_)?passée?s?_(?:de_|d'|du_){old}_(?:à|au|sur)_\w
    change (?:j'ai|on_a|nous_avons)_(?:changé|modifié)_(?:mon|ma|mes|notre|de)_[^,]{2,40}?_(?:du|de)_{old}_(?:au|à
        |pour)_\w
    change {i}n(?:e_|'|')?_?(?!sais|peux|veux|comprends|en_peux|pense|crois|me_souviens|vois|suis_plus_sûr|peut|sait
        |veut|arrive|ai_plus_(?:le_temps|envie))(?:[mn]ous_|m'|me_)?[\w']+_plus_(?!tard|que\b|jamais_ça|rien|grand
        |besoin)(?:(?:de|chez|à|en|au|du|pour|dans|avec|le|la)_|d')?{old}{end}
    change (?:j'ai|on_a|nous_avons)_(?:enfin_)?(?:arrêté|cessé)_(?:de_|d'|le_|la_){old}{end}
    change (?:j'ai|on_a|nous_avons)_(?:remplacé|échangé)_{old}_(?:par|contre|pour)_\w
    change avant,?_(?P<old>(?:je_|j'|on_|nous_)[^,;!?]{2,60}?),?_(?:et_|mais_)?(?:maintenant|aujourd'hui)\b
    constraint (?:tu_dois|vous_devez)_(?:toujours_|absolument_|impérativement_)?{infinitive}\b
    constraint (?:(?:toutes_les|tous_les|les|tes|mes|chaque)_)?(?:\w+_)?{things}_(?:doivent|doit)_(?:toujours
        _)?(?!avoir_été)\w
    constraint (?:(?:ne_|n'){asked}_)?(?:[^,!?]{2,40}_)?(?:en_aucun_cas|sous_aucun_prétexte|en_aucune_circonstance)_\w
    constraint il_(?:est_(?:obligatoire|impératif|interdit|indispensable)_(?:de_|d')|faut_(?:toujours|impérativement
        |absolument)_){infinitive}\b
    rule {asked}(?:-(?:moi|nous|le|la|les|lui))?_(?:(?:bien|donc)_)?(?:toujours|systématiquement)\b
    rule (?:ne_|n')(?:(?:me|m'|nous|le|la|les|lui|y|en)_?)?{asked}_(?:plus_)?(?:jamais|plus)\b
    rule {now},?_(?!(?:je|on|nous|il|elle)\b|j')\w
    rule (?:à_l'avenir|dans_le_futur),?_(?:s'il_te_plaît,?_)?(?:ne_|n')?{asked}
    rule (?:chaque_fois_que|à_chaque_fois_que)_[^!?]{3,80}?,_(?:s'il_te_plaît,?_)?{asked}
    rule quand_(?:tu|je|on)_[^!?]{3,80}?,?_{asked}(?:-moi)?_toujours\b
    preference {i}(?:(?:vraiment|toujours)_)?(?:préf[èe]re|préférons|préférerais|adore|adorons|déteste|détestons)(?:
        _(?:vraiment|toujours))?{passing}_+\w
    preference {i}aim(?:e|ons)(?:_(?:mieux|beaucoup|bien|vraiment|énormément|particulièrement)){1,2}{passing}_+\w
    preference j'aime{passing}_(?:les?|la|l'|manger|boire|marcher|lire|quand|qu|faire|écouter|regarder|voyager
        |cuisiner)\w*
    preference (?:je_|nous_|on_)n'aim(?:e|ons)_(?:pas|vraiment_pas|pas_du_tout){passing}_+\w
    preference (?:je_|on_)ne_supporte_(?:pas|plus){passing}_+\w
    preference m(?:on|a|es)_\w[^,.!?]{1,40}?_(?:préférée?s?|favorite?s?)_(?:est|sont|c'est)_\w
    preference (?!ça|cela|ceci|si|quand|que|comme)[\w']+(?:_[\w']+){0,3},_(?:moi_)?(?:j'adore|je_déteste|j'aime
        _beaucoup|je_préfère)\b
    correction* (?:non|nan|faux)[,.:!]?_+{said}
    correction* (?:en_fait|en_réalité|plutôt)[,.]?_+{said}
    correction* (?:non[,.]?_)?(?:ce_n'est_|c'est_|c'était_)?pas_(?!seulement|que\b|mal\b|mauvais|ceci|ça\b|cela
        |si\b)(?:(?:le|la|à|en)_)?{old},?_mais_(?!pas\b|aussi|cela|ça\b|je\b|c'est_pas)[^,]{2,50}$
    correction* (?:non[,.]?_)?(?:je_voulais_dire|je_parlais_de|j'ai_dit|(?:elle|il)_s'appelle|c'est|(?:mon|ma)_\w+
        _(?:est|s'appelle))_[^,]{2,60}?,_(?:et_)?(?:non_)?(?:pas_)?(?:(?:le|la|à|en)_)?{old}{end}
    correction* (?:tu_te_trompes|vous_vous_trompez|c'est_(?:faux|incorrect)|ce_n'est_pas_(?:vrai|exact
        |correct))[,.:;]_*\w
    correction (?:correction|rectification)_?[:,.]_*\w
    """,
    asked=_FR_ASKED,
    infinitive=_FR_INFINITIVE,
    now=_FR_NOW,
    i=_FR_I,
    passing=_FR_PASSING,
    things=_FR_THINGS,
    said=_FR_SAID,
)
