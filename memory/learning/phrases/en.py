"""English: in which words a wish, a rule, a correction or a change is stated; grammar.py tells how to read it."""

from memory.learning.phrases.grammar import any_of, phrases

_EN_VERBS = any_of(
    "use answer reply respond write call_me call_us call_it call_him call_her tell say(?!_never) ask show include add "
    "put keep start begin end send share mention remind speak talk address refer translate convert format sign cite "
    "quote link explain check(?!_out) confirm verify delete remove erase store save make(?!_it\\b) "
    "suggest recommend propose "
    "offer list sort round spell capitali[sz]e avoid apologi[sz]e repeat lecture flatter summari[sz]e provide state "
    "name count treat read search compare leave skip omit greet thank pretend guess invent assume default follow stick "
    "wait warn notify schedule book order buy stop change edit rename run commit push discuss bring_up book reveal "
    "give(?!_up) let_me disclose publish post forward copy number indent prefix wrap test document shorten limit "
    "return output print render display consider prioriti[sz]e round correct ignore double-check "
    "look_up be_(?:brief|concise|"
    "formal|polite|honest|specific|direct|rude|sarcastic) do_(?:that|this|it|the) go_over"
)
_EN_THINGS = any_of(
    "answers? repl(?:y|ies) responses? summar(?:y|ies) reports? texts? messages? prices? dates? units? code names? "
    "recipes? notes? e-?mails? documents? sentences? translations? lists? numbers? amounts? times? letters? quotes? "
    "files? titles? headings? sources? meals? invoices? functions? tests? commits? dishes paragraphs? tables?"
)
_EN_FROM_NOW = (
    r"(?:from_(?:now|today|here|this_(?:point|moment))_(?:on|onwards?)|henceforth|as_(?:of|from)_(?:now|today))"
)
_EN_AFTER = r"(?:in_(?:the_)?future|going_forward|moving_forward|for_the_future)"
_EN_I = (
    r"(?:i|we)_+(?:(?:really|absolutely|just|generally|usually|always|much|personally|actually|also|honestly|simply|"
    r"totally|strongly|kinda|do|still|normally|typically|quite|truly)_+){0,3}"
)
# what follows a liking that is about the moment or the talk itself
_EN_PASSING = (
    r"(?!_+(?:(?:the_|that_|this_|your_)?(?:first|second|third|last|former|latter|other|next)\b|"
    r"it\b(?!_when)|this\b|that\b|"
    r"these\b|those\b|them\b|him\b|her\b|you\b(?!_to\b|_not\b|r?_\w+ed\b|_\w+ing\b|_wrote)|your\b|how\b|where\b|what\b|"
    r"the_(?:idea|way|look|sound|one)\b|option\b|not_to\b|to_(?:think|say|admit|break|bother|ask|"
    r"know|see|hear|go|do)\b|"
    r"so\b|a_lot\b|if\b|everything\b|nothing\b))"
)
_EN_SAID = (
    r"(?:(?:it|that|this|he|she)'?s?_(?:(?:is_)?(?:called|named|spelled|spelt|pronounced|on|at|in)_)"
    r"|(?:my|his|her|our|their)_[^,.]{2,40}?(?:_(?:is|are|was)_|'s_(?:called|named)_)(?!not_|no_|that_)"
    r"|i_live_|i'?m_(?:from|called|named)_|i_am_(?:from|called|named)_|i_work_(?:at|for|in|as)_|i_was_born_)"
)
PHRASES = phrases(
    r"""
    change (?:i|we)(?:'ve|ve|_have)?(?:_(?:just|recently|finally|now))?_(?:moved|relocated)(?:_away|_house)?_from
        _{old}_+to_\w
    change (?:i|we)(?:'ve|ve|_have)?(?:_(?:just|recently|finally|now))?_(?:moved|relocated)_to_(?!the_(?:next|sofa
        |other)|a_|an_|my_|another|next|it\b|tears)\w
    change (?:i|we)(?:'ve|ve|_have)?(?:_(?:just|recently|finally|now))?_(?:switched|migrated|changed|converted)(?:
        _over)?_from_{old}_+to_\w
    change (?:i|we)(?:'ve|ve|_have)?(?:_(?:just|recently|finally|now))?_(?:switched|migrated|converted)(?:_over)?_to
        _(?!the_|a_|it\b|this|that)\w
    change (?:i|we)(?:'ve|ve|_have)?_(?:just_|recently_)?(?:changed|updated|renamed)_(?:my|our)_[^,.]{2,40}?_from
        _{old}_+to_\w
    change (?:i|we)(?:'m|_am|_are|'re)?_no_longer_(?!know|understand|care|want|think|remember|believe|see|feel|need
        |sure|have_time)(?P<old>[^,;!?]{2,60}?){end}
    change (?:i|we)_(?:don'?t|do_not)_(?!know|understand|care|want|think|remember|believe|see|feel|need|have\b|get
        |like|love)(?P<old>[^,;!?]{2,60}?)_any_?more\b
    change (?:i|we)(?:'ve|ve|_have)?_(?:just_|recently_|finally_)?(?:quit|stopped|given_up|gave_up)
        _(?P<old>(?!trying|working_on|reading|worrying|by\b|at\b|on\b|for\b|the\b|there)\w[^,;!?]{2,60}?){end}
    change (?:i|we)_used_to_{old},?_(?:but_|and_)?(?:now|these_days|nowadays)\b
    change* (?:i|we)(?:'ve|ve|_have)?_(?:just_|recently_)?(?:replaced|swapped|traded)_{old}_(?:with|for|by)_\w
    change (?:my|our)_[^,.]{2,50}?_(?:is|are)_now_[^,]{2,60}?_instead_of_{old}{end}
    change (?:my|our)_[^,.]{2,50}?_(?:has_)?changed_from_{old}_+to_\w
    constraint you_(?:must|have_to|need_to|are_required_to|shall|may_not|must_not|mustn'?t|are_not_allowed_to|can
        _?not)_(?:always_|never_|not_|only_|ever_)?{verbs}\b
    constraint (?:(?:all|every|each|any|your|the|my|our)_)?(?:[\w'-]+_){0,2}?{things}_(?:must|ha(?:ve|s)_to|needs?
        _to|(?:are|is)_required_to|shall|may_not|should_(?:always|never))_(?!have_been|have_had|be_(?:tired|nice
        |wrong|hard|fun))\w
    constraint (?:[\w'-]+_){1,10}?(?:is|are)_(?:always_)?(?:required|mandatory|obligatory)_(?:for|in|with|at)
        _(?:every|each|all|any|my)_(?:[\w'-]+_)?{things}\b
    constraint (?:don'?t|do_not|never)_ever_(?:again_)?{verbs}\b
    constraint (?:under_no_circumstances|on_no_account|in_no_case|at_no_time|by_no_means)_(?:(?:should|may|must)_you
        _|you_(?:may|must|should|can)_)?(?:ever_)?{verbs}\b
    rule (?:you_(?:should|can|may)_)?(?:always|never)_(?:please_|again_)?{verbs}\b
    rule {from_now},?_(?!(?:i|we|he|she|it|they)\b)\w
    rule {after},?_(?:please_)?(?:you_|(?:always|never|only|don'?t|do_not|no)_|{verbs}\b)
    rule (?:don'?t|do_not)_{verbs}_[^,!?]{2,80}?_(?:any_?more|ever|again)\b
    rule (?:whenever|every_time|each_time)_(?:i|you|we)_[^,!?]{3,80}?,?_(?:please_)?(?:(?:always|never|only|don'?t
        |do_not)_)?{verbs}\b
    rule when_(?:i|you|we)_[^,!?]{3,80}?,?_(?:please_)?(?:always|never|only|don'?t|do_not)_{verbs}\b
    preference {i}(?:prefer|love|like|hate|dislike|adore|enjoy|despise|detest|loathe){passing}_+\w
    preference (?:i|we)(?:'d|d|_would)_(?:much_|really_)?(?:rather|prefer)(?!_+(?:not_to|an?|go|stay|do|take|the
        _(?:first|second|third|last|other)|this|that|it\b|wait|leave|see|talk)\b)_+\w
    preference {i}(?:don'?t|do_not)_(?:really_|particularly_)?(?:like|enjoy|love){passing}_+\w
    preference {i}(?:can'?t|cannot|can_not)_(?:stand|bear){passing}_+\w
    preference (?:i'?m|i_am|we'?re|we_are)_(?:not_)?(?:really_)?(?:(?:a_)?(?:big_|huge_)?fan_of|(?:not_)?(?:into
        |fond_of|keen_on)){passing}_+\w
    preference my_(?:absolute_|all-time_)?(?:favou?rite|prefer(?:red|ence))[^,.!?]{0,60}?_(?:is|are|for)_(?!that\b
        |this\b|the_(?:first|second))\w
    correction* (?:no|nope|wrong)[,.:!]?_+{said}
    correction* (?:actually|in_fact)[,.:]?_+{said}
    correction* (?:actually|in_fact)[,.:]?_+(?:it|he|she|this)(?:'s|s|_is)_(?!not_|ok|fine|great|good)\w
    correction* (?:(?:no|actually)[,.]?_+)?(?:(?:it|that)(?:'s|s|_is|_was)_)?not_(?!only|just|bad|good|me\b|him\b
        |her\b|you\b|us\b|them\b|so|too|that|this|sure|always|all\b){old},?_(?:but|it'?s)_(?:rather_)?(?!not\b
        |also\b|i\b|we\b|it\b|you\b)[^,]{2,60}$
    correction* (?:(?:no|actually)[,.]?_+)?i_(?:meant|said)_[^,]{2,60}?,?_(?:and_)?not_{old}{end}
    correction* (?:(?:no|actually)[,.]?_+)?(?:it|that|he|she|(?:my|his|her|our)_[^,]{2,30}?)(?:'s|s|_is|_are)
        _[^,]{2,40}?,_(?:and_)?not_{old}{end}
    correction* (?:that(?:'s|s|_is)_(?:wrong|incorrect|not_(?:right|true|correct))|you(?:'re|_are)_(?:wrong
        |mistaken)|you_got_(?:it|that)_wrong|wrong|incorrect)[,.:;]_*\w
    """,
    verbs=_EN_VERBS,
    things=_EN_THINGS,
    from_now=_EN_FROM_NOW,
    after=_EN_AFTER,
    i=_EN_I,
    passing=_EN_PASSING,
    said=_EN_SAID,
)
