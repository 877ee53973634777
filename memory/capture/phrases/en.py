"""English: in which words people state what is to be kept; grammar.py tells how to read it. Data, hence long."""

from memory.capture.phrases.grammar import table

WORDS = r"""
    verbs (?:use|answer|reply|respond|write|call|tell|say(?!_never)|ask|show|include|add|put|keep|start|begin|end|send|
        share|mention|remind|speak|talk|address|refer|translate|convert|format|sign|cite|quote|link|explain|check(?!
        _out)|confirm|verify|delete|remove|erase|store|save|make(?!_it\b)|suggest|recommend|propose|offer|list|sort|
        round|spell|capitali[sz]e|avoid|apologi[sz]e|repeat|lecture|summari[sz]e|provide|state|name|count|treat|read|
        search|compare|leave|skip|omit|greet|thank|pretend|guess|invent|assume|default|follow|stick|wait|warn|notify|
        schedule|book|order|buy|change|edit|rename|run|commit|push|discuss|bring_up|reveal|give(?!_up)|let_me_know|
        disclose|publish|post|forward|copy|number|indent|prefix|wrap|test|document|shorten|limit|return|output|print|
        render|display|consider|prioriti[sz]e|correct|ignore|double-check|look_up|be_(?:brief|concise|formal|polite|
        honest|specific|direct|rude)|do_(?:that|this|it|the)|go_over|log|deploy|merge|ship|paste|format|type|text|
        message|ping|reference|cc)
    # after "never", "always" and "don't" any verb in its first form, but for proverbs, songs, comfort and states
    act (?!(?:a|an|the|too|in|at|on|as|again|ever|been|be_(?:afraid|sad|shy|silly|sorry|mad|angry|like|so|late)|is|was|
        are|am|did|had|has|have|do_(?:this|that|it)$|seen|heard|felt|met|thought|knew|said|went|got|mind|worry|give_up|
        say_(?:never|die)|surrender|look_(?:on|back)|judge|underestimate|understood|understand|know|believe|happens?|
        stop|forget|gonna|wanna|want|need|like|love|hate|lose|regret|come|quit|cry|panic|laugh|bother|hesitate|rush|
        care|think|get|even|see|feel|remember|happy|glad|welcome|good|nice|great|sunny|so|works?|late|early|enough|let
        _(?:me_down|go|you)|change$|meet_your|bring_a_knife|skip_(?:leg|a)|trust|you|it|this|that|me|i|we|he|she|they|
        dare|mess|play_with|kid|sweat|freak|stress|tempt|leave_me|take_(?:it|this)|hold|wait|spoil|ask_me_(?:why|
        how))\b|mean_(?:to|it)|\w+(?:ing|ed)\b|\w+[^s]s\b)[a-z][\w'-]+
    things (?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|reports?|texts?|messages?|prices?|dates?|units?|code|
        names?|recipes?|notes?|e-?mails?|documents?|sentences?|translations?|lists?|numbers?|amounts?|times?|letters?|
        quotes?|branch(?:es)?|endpoints?|services?|passwords?|secrets?|tokens?|logs?|migrations?|builds?|deploys?|
        releases?|prs?|queries|backups?|meetings?|calls?|photos?|tickets?|requests?|files?|titles?|headings?|sources?|
        meals?|invoices?|functions?|tests?|commits?|dishes|paragraphs?|tables?)
    answers (?:answers?|repl(?:y|ies)|responses?|explanations?|messages?|texts?|e-?mails?|summar(?:y|ies))
    now (?:from_(?:now|today|here|this_(?:point|moment))_(?:on|onwards?)|henceforth|as_(?:of|from)_(?:now|today)|going
        _forward|moving_forward|in_(?:the_)?future)
    after (?:in_(?:the_)?future|going_forward|moving_forward|for_the_future)
    ask (?P<ask>would_(?:you|u)_mind_|(?:can|could|will|would)_(?:you|u|we|ya)_(?:please_|pls_|just_|maybe_)?|i(?:'d|d|
        _would)_(?:like|love|prefer|appreciate_it_if)_(?:you|u)_(?:to_|would_|could_)?|i_(?:want|need)_(?:you|u)_to_|
        (?:make|be)_sure_(?:that_)?(?:you_|to_|u_)?|try_to_|(?:you|u)_(?:should|can)_|kindly_|i'?ll_ask_you_to_)?
    i (?:i|we)_+(?:(?:really|absolutely|just|generally|usually|always|much|personally|actually|also|honestly|simply|
        totally|strongly|kinda|do|still|normally|typically|quite|truly|rly|fucking|freaking|prob|mostly|way|\w+ly)
        _+){0,3}
    # what follows a liking that is about the moment or the talk itself
    passing (?!_+(?:(?:the_|that_|this_|your_)?(?:first|second|third|last|former|latter|other|next)\b|it\b(?!_when)|
        this\b|that\b|these\b|those\b|them\b|him\b|her\b|you\b(?!_to\b|_not\b|r?_\w+ed\b|_\w+ing\b|_wrote)|u\b|ya\b|
        your\b|how\b|where\b|what\b|the_(?:idea|way|look|sound|one)\b|option\b|not_to\b|to_(?:think|say|admit|break|
        bother|ask|know|see|hear|go|do)\b|so\b|a_lot\b|if\b|everything\b|everyone\b|everybody\b|nothing\b|myself\b|my
        _life\b|waiting\b))
    vague (?!(?:not|no|still|fine|ok|okay|good|great|nice|perfect|cool|right|wrong|true|false|correct|broken|enough|
        better|worse|bad|there|here|gone|too|so|very|really|pretty|kind|kinda|quite|just|only|because|why|what|how|
        that|this|it|a_(?:bit|lot|good|bad|nice|great|problem|joke|mess|pain|shame)|all|always|never|about|like|done|
        ready|late|early|sure|sorry|tired|sick|sad|happy|busy|hungry|bored|hot|cold|down|up|back|out|over|missing|
        amazing|awesome|awful|terrible|horrible|crazy|weird|funny|hard|easy|getting|going|being|made|more|much|my
        _fault|been|nothing|interesting|lovely|working|me|you|him|her|them|us|where|when|already|quicker|faster)\b)
    np (?:(?:the|my|our|his|her|their|its|your|\w+'s)_(?:[\w'/-]+_){1,5}?)
    said (?:(?:it|that|this|he|she)_?'?_?s_(?:(?:is_)?(?:called|named|spelled|spelt|pronounced|on|at|in)_)|(?:my|his|
        her|our|their)_[^,.]{2,40}?(?:_(?:is|are|was)_|'s_(?:called|named)_)(?!not_|no_|that_)|i_live_|i'?m_(?:from|
        called|named)_|i_am_(?:from|called|named)_|i_work_(?:at|for|in|as)_|i_was_born_|i_have_|we_(?:live|have|meet|
        use|moved|are_in)_|(?:he|she|they)_(?:lives?|works?|has|have|was|were)_(?!to\b|been))
    lasting (?:\w*al+[ea]?rgic|\w*intolerant|vegan|vegetarian|pescatarian|diabetic|co?eliac|asthmatic|epileptic|
        pregnant|left-?_?handed|right-?_?handed|colou?r-?_?blind|blind|deaf|dyslexic|autistic|adhd|retired|married|
        divorced|single|widowed|engaged|self-?employed|unemployed|freelanc\w+|muslim|jewish|christian|catholic|hindu|
        buddhist|atheist|sober|based|from|originally|fluent|trained|certified|studying|training|learning|working_(?:as|
        at|for|nights|part|from|in)|living_(?:in|with)|raising|expecting_a|hard_of|nearsighted|short-?sighted|
        bilingual|vegan|an?_only|lactose|gluten|half|born|\d{1,3}(?!_(?:min|sec|hour|%|percent))|on_(?:insulin|
        warfarin|statins|antidepressants|a_\w+_diet)|named|called|a_(?!bit|little|tad|lot|fan|loss|mess|wreck|fool|
        idiot|moron|genius|hurry|few|couple|robot|big|huge|potato)|an_(?!idiot|hour|absolute)|in_(?:my_\w+ties|grade|
        year|the_\w+_time_zone|\w+_grade)|the_(?:only|eldest|oldest|youngest))
    mine (?:(?:my|our)_(?:[\w'/-]+_){0,4}?[\w/-]+|(?:mom|mum|dad|grandma|grandpa|hubby)(?:'s_\w+)?)
    fleeting (?:train|flight|bus|plane|question|problem|issue|meeting|call|headache|migraine|cold|fever|idea|feeling|
        doubt|suggestion|request|hunch|date|minutes|seconds|hours|days|left|exam|test|interview|appointment|deadline|
        bug|error|minute|moment|sec|second|look|lot|bit|plan|day|night|week|hangover|flat|party|presentation|job
        _interview|task|favou?r|point|choice|clue|time|money|energy|chance|dream|crush|bad_(?:day|feeling|headache|
        cold|dream|mood)|terrible|hard|weird|great|good|nice|rough|long|few|couple|quick|small_question|to|thing|
        problems|questions|ideas|friend_who|busy|been|had|seen|done|just|never|no_(?:idea|clue|time|problem|words|
        choice|doubt|energy))
    is (?:(?:is|are|was|were|should_be|needs_to_be|must_be|starts?|begins?|ends?|costs?|opens?|closes?|lives?|works?|
        runs?|listens?|happens|takes_place|sits|arrives?|leaves?|has|have|lands?|expires?|uses?)_|(?<=\w)'?s_)
    nobody (?:nobody|no_one)
    may (?:may|shall)
    settled (?:(?:and_)?(?:it's_|that's_)?(?:decided|settled|final))
    without (?:no(?!_(?:more_than|one|idea|problem|way|thanks))|without|never_(?:any|with))
    always (?:always|ever|never|period)
    must (?:must|ha(?:s|ve)_to|shall|needs?_to)
    lastingly (?:always|never|only|exclusively|at_all_times)
    whom (?:i|you|u|we|he|she|it|they|this|that|there|if|who|what|how|when|why|must|life)
    it (?:its?|it's|it_is|that's)
    articles (?:the|an?|on|in|at|by)
    in (?:in|for|on|with)(?:_(?:this|these))?
    no not
    beg (?P<ask>(?:i|we)_(?:must_|would_|have_to_|kindly_|do_)?(?:ask|request|beg)_(?:that_)?you_(?:to_)?|(?:i|
        we)(?:'d|_would|_should)_(?:be_(?:grateful|obliged|glad)_(?:if_you_(?:could_|would_)?)|appreciate_it_if_you
        _(?:could_|would_)?))
    manner (?:without|address_me|metric|refrain)
    only (?:only|just|\w+_only)
    ever (?<!as\s)(?<!like\s)(?<!than\s)always
    situation (?:when(?:ever)?|if|every_time|any_time)_(?:i|we)_(?:send|ask|paste|write|say|give|share|mention|show|
        post|upload|drop|forward|talk|tell|type|want|request|need)_
    asking (?:can|could|do|does|did|should|would|will|is|are|i|we|let)
    nothing (?!nothing_to_)(?=[^?!]*_(?:the|to|for|of|with|without|after|before|my|our|are|from|by|over|under|is)
        _)(?:nothing|no(?!_(?:one|idea|way|problem|worries|thanks|need|doubt|wonder|matter|clue|time|rush|luck|more
        _than|i|it|its|that|this|the|you|we|he|she|not|please|hard|point|reason|big|longer|news|chance|offen[cs]e|
        comment|sign|response|pain|plan|man|place|love|life|words?)_)_[\w'-]+)
    moving (?:(?:i|we)(?:'ve)?)?_?(?:(?:just_|recently_|finally_)?(?:left|quit|sold|swapped|moved_(?:in|out|back)|
        switched_jobs|changed_jobs|started_at|broke_up|split_up|retired|got_rid_of)_(?!the_(?:house|room|party|meeting|
        building|office|keys|door|out|a)|it\b|that|this|him|her|you|me)[^?!]{2,60}?(?<!\w)(?:now|last_\w+|in_\w+|this
        _(?:year|month|summer)|for_good)(?!\w))
    nowadays (?:now|nowadays|these_days|as_of_\w+)
    being (?:(?:i|we)_(?!feel|see|know|understand|get|need|want|think|have_to|\w+ed_)[a-z]+_(?:at|in|on|from|with)|
        i'?m|we'?re|i_am|we_are)_(?:at_an?|with|in_(?-i:[A-Z])|living|working|studying|based|on_(?-i:[A-Z]))_?|(?:i|
        we)_only_(?:have|use|eat|drink|work)_
    taste (?:not_(?:big|keen|mad|hot)_on_\w+|(?:is|are)_not_my_(?:thing|style)|(?:isn'?t|aren'?t|not)_(?:really
        _)?(?:my|our)_(?:thing|cup_of_tea|style|jam)|all_the_way|over_\w+_any_day|any_day_of_the_week|(?:is|are)
        _(?:not|n't)_for_me|makes?_(?:me|my_\w+)_(?:gag|sick|glaze|crazy|nervous|anxious|cringe|itch|nuts)\w*|(?:does|
        do)(?:n't|_not)_(?:work_for|agree_with|do_it_for)_me|works?_(?:best|better)_for_me|drives?_me_(?:nuts|crazy|
        mad|insane|up_the_wall)|gets?_on_my_nerves|suits?_me_(?:best|better)|deal_?-?breaker|i_(?:can'?t|cannot)_stand|
        over_\w+_for_me)
    rather (?:rather|prefer|not_a|not_much_of_an?|i'm_more_of_an?)_(?!not|you|than)
    decided (?:(?:we|i|me_and_\w+|\w+_and_i|committee|board|team|family|group|council|management|everyone)(?:'ve|_have|
        _has|'s)?_(?:all_|finally_|both_|now_)?(?:decided|agreed|settled|opted|voted|chosen|gone_for|gone_with)_(?:on|
        to|that|for|not|against|with)|(?:we|i)(?:'re|'m|_are|_am)_(?:taking|getting|keeping|ditching|scrapping|
        cancelling|dropping|moving_to|renaming)_(?:the|our|it_(?:to|off|on)))
    called (?:the_)?(?:[\w'/-]+_){0,3}?(?:dog|cat|boy|girl|son|daughter|baby|wife|husband|partner|kids?|twins|horse|
        parrot|company|team|band|boat|car|shop|project|boss|doctor|teacher|sister|brother|mum|mom|dad|neighbou?r|
        landlord|name|\w+s)(?:'s|s|_is|_are)?_(?:called|named)
    kin (?:(?:(?:my|our)_)?(?:gf|bf|girlfriend|boyfriend|wife|husband|hubby|mum|mom|dad|son|daughter|sister|brother|
        kids?|niece|nephew|grandma|grandad|grandpa|partner|flatmate|roommate)|(?:my|our)_(?:[\w'/-]+
        _){0,2}?[\w/-]+(?<!back)(?<!head)(?<!love)(?<!life)(?<!boss)(?<!phone)(?<!brain)(?<!wifi))
    lives (?:(?:is|are|was|'s)_(?:an?|the)_\w+(?:er|or|ist|ian|an|ant|ent|ive|tic|ee)|(?:only_|mostly_|usually_|always
        _|never_)?(?:lives?|works?|has|have|comes?_from|goes|sleeps?|teaches|studies|speaks?|eats?|drinks?|plays?|
        runs?|owns?|uses?|starts?|opens?|closes?|needs?_(?:gluten|insulin|a_walker|glasses|to_be)|(?:can'?t|cannot|
        doesn'?t|don'?t|won'?t)_(?:eat|drink|have|hear|see|drive|read|do|like|tolerate))_\w|is_due|turns?_\d|(?:is|
        are)_\d|'s_\d|(?:is|are)_(?:shot|bad|gone|in_(?:my|our)_\w+))
    our our
    label (?:(?:\w+_)?rules?(?:_(?:for|in|of)_\w+(?:_\w+){0,2})?|policy|convention)
    from_when (?:since|as_of|starting|from)_(?!now|then|here|today|there|what|where|this_point)(?:[\w'-]+_){0,2}?[\w'-]+
    be (?:is|'s|s|are|was_born|has)_
    could (?P<ask>(?:can|could|would|will)_(?:you|u)_(?:please_|mind_|just_)*)
    this (?:it|this|that|these|those|them|him|her|you|your|u|here|there|anything|everything|yet|much|so)
    restrict (?:only|never)
    first (?:i|we)_(?!\w+ed_)(?:(?:only|never|always|don'?t|can'?t|cannot|do_not)_)\w+
    habit (?:(?:mon|tues|wednes|thurs|fri|satur|sun)days|(?:mon|tues|wednes|thurs|fri|satur|sun)day_(?:morning|
        afternoon|evening|night)s|week(?:days|ends|nights)|(?:every|each)_(?:other_|single_|second_)?(?:day|week|month|
        year|morning|evening|night|weekend|summer|winter|\w+day|christmas)|(?:once|twice|\w+_times)_a_(?:day|week|
        month|year)|for_(?:\w+_){0,2}(?:years|decades)|since_(?:(?:the|his|her|my)_\w+|\d{4}|i_was_\w+|childhood|
        birth)|most_(?:days|mornings|evenings|nights|weekends))
    me (?:i|we|i'm|i've|we're|we've|im|ive|my|our)
    self (?:(?:i|we)_(?!(?:\w+ed|was|were|had|went|got|did|saw|said|met|told|made|took|came|found|gave|lost|heard|
        bought|ate|drank|left|just|already|can|could|will|would|should|might|may|must|do|did|sent|ran|sat|put|cut|hit|
        let|won|wrote|spoke|broke|forgot|kept|paid|tried|meant|call|got)_)[a-z]+|(?:i'?m|we'?re|i_am|we_are)_(?!\w+ing
        _|going|not|so|too)\w+|(?:i'?m|we'?re|i_am|we_are)_(?:doing|studying|training|teaching|writing|building|
        running|raising|renting|learning)|i'?ve_got|we'?ve_got)_
    place (?:in|at|for|with|from|near|outside|on)
    never_do (?:i|we)_(?:don'?t|do_not|never|can'?t|cannot)_(?:do|eat|drink|use|own|drive|wear|smoke|cook|fly|work|
        speak|read|watch|hear|see_well|lift|run|sleep_(?:well|much)|take)_(?!it|this|that|you|anything|much)
    have (?:i|we)(?:'ve_got|'ve|_have|_got)_(?:an?|two|three|four|five|\d+|no|bad)_(?:\w+_)?(?:dogs?|cats?|kids?|sons?|
        daughters?|boys?|girls?|children|twins|horses?|rabbits?|chickens|hens|cars?|garden|balcony|allotment|brothers?|
        sisters?|grandkids|nephews?|nieces?|degree|licen[cs]e|knees?|back|hip|heart|pacemaker|phd|visa|mortgage|
        allergy|intolerance|condition|stutter|lodger|flatmates?)
"""
AROUND = r"""
    openers (?:please|pls|plz|hey|heya|hi|hiya|hello|yo|okay|ok|kk|k|well|so|and|but|also|oh|ah|aw|ugh|hmm+|um+|uh+|
        yes|yeah|yep|yup|sure|btw|by_the_way|fyi|fwiw|imo|imho|ngl|lowkey|honestly|to_be_honest|tbh|personally|frankly|
        generally|in_general|as_a_rule|for_the_record|one_more_thing|thanks|thx|thank_you|just_so_(?:you|u)_know|just
        _to_let_you_know|(?:just_)?(?:please_)?(?:note|know|be_aware)_that|for_your_information|lol+|lmao|rofl|
        ha(?:ha)+h?|omg|dude|bro|bruh|yo|mate|man|guys|buddy|folks|listen|look|right|cool|great|alright|anyways?|
        basically|actually_just|like|i_mean|you_know|(?:quick_)?(?:heads[-_]up|memo|update|note|reminder|fact|one|
        thing)(?=[:,])|p\.?s\.?|nb|(?:for|as)_(?:(?:future|your)_reference|context|background|info)|i_(?:should|forgot
        _to|wanted_to|want_to|just_wanted_to|have_to|must|gotta|need_to)_(?:mention|say|add|tell_you|tell_u|let_you
        _know|clarify)(?:_that)?|(?:you|u)_should_know(?:_that)?|good_(?:morning|evening|afternoon)|morning|dear(?:
        _\w+)?|just|because|cuz|cause|since|then|too|(?:\w+_)?(?:rules?|note|policy|request|preference|setting)s?(?:
        _for_\w+(?:_\w+){0,2})?(?=:)|(?:the_)?(?:thing|fact|truth)_is(?:_that)?|let_it_be_known(?:_that)?|not_sure_if
        _i_mentioned(?:_that)?,?_but|tho|ok_so)(?!\w)
    marks (?:(?:you|u)_keep_(?:saying|writing|calling|thinking|telling|using)_[^,.?!]{2,60}|no(?=[,.:!…–—-]|_(?:no|
        its?|it's|that|that's|thats|i|i'm|im|my|the|he|she|we|our|they|his|her|this|actually|wait|not|bro|dude|sorry|i
        _meant)\b)|no+pe|nah+|wrong|incorrect|not_quite|not_exactly|(?:wait|hold_on|hang_on)(?:_wait)*|sorry|oops|
        whoops|my_bad|my_mistake|scratch_that|correction(?=[:,.])|edit(?=:)|actually|in_fact|(?:it_)?turns_out(?:
        _that)?|well_actually|i_misspoke|i_made_a_(?:mistake|typo)|typo(?=[:,.])|(?:that(?:'s|s|_is|_was)|this_is)
        _(?:wrong|incorrect|not_(?:right|true|correct|it))|(?:you(?:'re|_are)|ur|u_are)_(?:wrong|mistaken)|(?:you|u)
        _(?:got|have|mixed|misunderstood)_?(?:it|that|this|me)?_?(?:wrong|up)?|to_correct_(?:you|myself|that)|small
        _correction(?=[:,]))(?!\w)
    joins (?:i_live|my_name|i'?m_(?:allergic|from)|call_me|and|but|so|because|cuz|cause|coz|also|plus|btw|though|
        however|while|or_rather|otherwise|then)(?!\w)
    closers (?:just_so_you_\w+_?\w*|please|pls|plz|thanks|thx|thank_you|ty|tyvm|cheers|ok|okay|lol+|lmao+|lmfao|rofl|
        ha(?:ha)+h?|hehe|btw|tho|though|fyi|just_so_you_know|if_possible|if_you_can|got_it|alright|dude|bro|(?<=,
        _)(?:man|mate)|for_future_reference|xd|yeah|thank_u|pretty_please|omg|smh|ffs|fr)(?!\w)
    courtesies please|pls|plz|kindly|(?:be_)?so_(?:kind|good)_as_to
    fillers btw|by_the_way|lol|lmao|tbh|haha+
    requests (?:(?:can|could|will|would|do|did|should)_(?:you|u|i|we|ya)|what(?:'s|s)?|how(?:'s|_do|_can|_much|_many|
        _long|_about|_to)|where_(?:can|do|should|is)|which_\w+_(?:should|would|is|are)|who_(?:is|can)|when_(?:is|does|
        do|can)|why|any_(?:ideas?|tips|suggestions|good|recommendations?|advice|thoughts)|(?:please|pls|now)
        _(?:suggest|give|write|tell|show|find|help|make|translate|explain|check|draft|recommend|list|summari[sz]e|plan|
        look|rewrite|fix|send)|(?:write|tell_me|show_me|give_me|find_me|help_me|suggest|recommend|remind_me|look_up|
        translate|draft|plan|summari[sz]e)_(?!when|that|to|about_it)|is_(?:it|there|that)|are_(?:there|you)|(?:do|did|
        does)_(?:that|it|this)|thoughts?|(?:u|you)_(?:keep|always|just|got|still)|let'?s_(?:go_)?(?:see|start|talk)|ok
        _back_to|i_(?:need|want)_(?:you_to|a|an|help|some)\b|no_going_back)(?!\w)
    doubts \b(?:where|when|while|that|who|which|until|how|why|what)_$|
        \b(?:maybe|perhaps|not_sure|undecided|torn_between|can'?t_decide|
        if|suppose|supposing|imagine|pretend|what
        _if|let'?s_say|as_if|wish|would(?!_like)|unless|in_case|whether|wonder|(?:say|said|says|told|tells|thinks?|
        claims?|insists?|believes?|writes?|wrote|asks?|asked|reads?|goes(?=_(?:\ue000|always|never|like))|texted|heard|
        according|apparently|supposedly|rumou?r)(?!_you|_u\b)|quote|lyrics?|song|poem|story|novel|character|example|
        e\.g|sign|poster|t-?shirt|dream(?:ed|t)?|const|return|(?:translate|rewrite|paraphrase|how_do_you_say)|he|she|
        they|who|(?<!i_)never|(?<!i_)always|make_(?:this|the|that)|(?:correct|fix|proofread|shorten|edit)_(?:this|the|
        my|that))\b
    reports ^(?:the_)?(?:kids|children|people|men|women)_|(?<!i_)(?<!nobody_)\b(?:says?(?!_no)|said|tells|told_(?!you|
        u\b)|thinks|claims|insists|believes|reckons|wrote|writes|keeps_saying|swears)\b
    voids ^(?:is|are|was|were|does|did|do|should|why|how|what|who|whose|which)_(?:it|this|that|you|i|we|he|she|they|
        there|the|an?|my|your)_(?!i_|we_)|^don'?t_tell_me_(?:it|that|you|we|the|he|she)\b|^(?:please_|can_you
        _)?(?:write|draft|compose|tell)_(?:me_|us_)?an?_(?![^.?!]*\b(?:always|every|each|when|whenever)\b)|^(?:oh_|ah_|
        wow_)*(?:yes|yeah|yeah_right|sure|of_course|great|awesome|brilliant|perfect|wonderful|fantastic|yay|
        lovely)[,.!_][^?]{0,60}\b(?:totally_|absolutely_|just_)(?:love|adore|enjoy)\b|\b(?:jk|just_kidding|once_upon|
        (?:oh_|yeah_|wow_)?(?:sure|great|yay|yeah_right|super|wonderful|fantastic|lovely|nice),_(?:i|we)_(?:just_|
        totally_|absolutely_|really_|so_)?(?:love|enjoy|adore)|i_(?:just_|totally_)?lo+ve_(?:it_)?when|how_do_you_say|
        in_(?:the|this|my|our)_(?:story|novel|game|dream|role-?play)|said_no_one_ever)\b|,_(?:(?:isn't|aren't|don't|
        doesn't|wasn't)_(?:it|i|we|you|he|she|they)|right|correct|no|innit)_?\?|,_right$|,_(?:he|she|they|the_\w+|my
        _\w+)_(?:says?|said|told_me)$|[;{}]\s*//|\b(?:const|let|var|def|class)\b[^.]{0,40}[={(]
    moments (?:(?<!\w)(?:right_now|tonight|today|tomorrow|yesterday|this_time|for_now|at_the_moment|atm|rn|this_(?:one|
        email|text|file|paragraph|draft|list|message|chapter|essay|morning|evening|afternoon|instant|second|song|movie|
        week(?:end)?)|just_now|currently_(?:at|on)|(?:last|next)_(?:night|week|weekend)|in_a_(?:minute|sec|moment)|
        (?:an?_)?(?:hour|minute)s?_ago))(?!\w)
    remember (?:(?:please|pls|can_you|could_you|also|and|just)_)*(?:(?:remember|memori[sz]e|keep_(?:it_)?in_mind|bear
        _in_mind|make_a_(?:mental_)?note|take_(?:a_)?note|note(?:_down)?|don'?t_forget|do_not_forget|never_forget|
        write_(?:this_|that_)?down|jot_(?:this_|that_)?down|save_(?:this|that)|for_the_record)(?:_(?:this|that|these|
        please|pls|the_following|for_(?:me|later)|to_self)){0,2}(?:_?[:,–—-]|_(?<=that_))|(?:remember|memori[sz]e|keep
        _(?:it_)?in_mind|bear_in_mind|don'?t_forget|do_not_forget)_(?=(?:i'?m|i_(?!told|said|asked|was_saying|
        mentioned|met|saw|had)\w+|we|(?:my|our|the|\w+'s|every|on|in)_[^.!?\n]{1,80}?(?:_(?:is|are|has|have|likes?|
        lives?|naps?|works?|starts?|ends?|goes|go|can'?t|must|means?|was|were|on|at)|'s)|(?:mum|mom|dad|grandma|
        grandpa|gran|nan|(?:my|our|the)_\w+)_(?:\w+_)?\w+s_\w+)\b))_?
    abbreviations dr|mr|mrs|ms|prof|st|no|vs|etc|e.g|i.e|approx|ca|jr|sr|inc|ltd|tel
    empty always|never|ever|again|actually|no|not|please|one|ones|that|this|these|those|it|thing|things|rather|instead|
        just|don't|dont|i'm|im|it's|its
    emphatic always|ever|never|period|please
    relatives where|which|whose|whom
    calendar \b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|june|july|august|september|
        october|november|december)\b
    leading (?:on|the|at|in|my|our|to)_+
    since (?:in|since|last)_+(?:january|february|march|april|may|june|july|august|september|october|november|december|
        [12]\d{3})|any_?more|yesterday|today|now|recently|(?:last|this)_(?:week|month|year|summer|winter)|for_good
    topics (?:in|for|with|on|when_writing|about)_
    feelings \b(?:until_\w+|this_weekend|fever|temperature_of|flu|questions?|signal|delay|bug|errors?|crash\w*|line
        _\d+|waiting_for|on_(?:my|the|our)_way|code_\d+|this_\w+|the_same|goes_on)\b|\bmy_(?:train|flight|bus|phone|
        code|script|app|build|computer|laptop|internet|browser)\b|\b(?:i'?m|i_am|we'?re|we_are|im)_(?:(?:so|really|
        just|very|too|pretty|kinda|a_bit|also|still|all|not|completely|totally|getting|feeling|quite|rather)
        _){0,3}(?:tired|hungry|sick|sad|happy|busy|bored|late|stuck|lost|confused|excited|sorry|sure|glad|done|ready|
        stressed|exhausted|worried|afraid|scared_that|angry|mad|annoyed|fine|ok|okay|good|great|back|here|home|free|
        off|out|on_(?:the|my)|at_(?:the|home|work)|in_(?:the|a)|about_to|gonna|going|trying|looking|thinking|wondering|
        waiting|curious|interested|hoping|planning|asking|writing_to|watching|reading|working_on|feeling|freaking|
        dying|starving|impressed|proud|grateful|aware|able|with_you|kidding|joking|running_(?:late|out|low)|like|down|
        up|over|all|broke|drunk|dead|drowning)\b|\b(?:i|we)_(?:(?:really|just|also|still|don'?t|do_not|kinda|only|do|
        never|even|always)_){0,3}(?:need|want|wish|hope|think|guess|know|see|feel|mean|wonder|understand|agree|believe|
        suppose|remember|forget|forgot|get_(?:it|that|what)|got_(?:it|a_question|an_error)|care|doubt|expect|plan|look|
        hear|love_(?:it|this|that|you|how)|like_(?:it|this|that|the|your)|appreciate|thank|apologi[sz]e|promise|bet|
        swear|notice|miss|worry|trust|assume|say|ask|owe|give_up|have_(?:to|a_(?:question|problem|feeling|meeting|
        headache|cold|flight|date)|no|an_(?:idea|exam|interview|appointment)|been)|can|could|would|will|should|might|
        may|must|recommend|suggest|accept|request|write_to|regret|confirm|come|go|leave|arrive|fly|see|try|keep|start|
        end_up|happen|find|seem|figure|realis?e|notice|read_(?:that|your|the)|hate_(?:it|this|that|you|everyone|my
        _life|how))\b|\b(?:hurts?|aching|aches|killing_me|dies|died|broken|crash\w*|stopped|won't_(?:start|open|load)|
        isn't_working|acting_up|driving_me)\b|\bmaybe|probably|perhaps|almost|nearly
"""
PHRASES = r"""
    constraint (?!(?:it|that|there|this|he|she|they|i|you|we|if|when|what|who|how|fish|life)\b)(?:[\w'/-]+
        _){1,5}?(?:must_(?:never|always|not|only)|mustn't|(?:can|may|shall|should)_(?:never|only|not_ever)|needs?_to
        _always|has_to_always|(?:is|are)_(?:strictly_)?(?:forbidden|prohibited|mandatory|not_allowed|off[-_]limits|
        never_to|required_to))\b
    fact {mine}(?:_(?:is|are|was)|'s)_(?:{lasting}|in_(?:\w+_)?(?!trouble|the_way|pain|love|danger|bed|need|my|a_)\w+|
        on_(?!fire|my|hold|its|the_way|vacation|holiday|board|me\b)\w+|due|\d|twelve|at_(?!home|risk|least|work)\w+)
    fact i(?:'ve|ve|_have)_(?:been_|had_|lived_|worked_|known_)(?!waiting|trying|thinking|looking|wondering|meaning|
        told|asked|there|to\b)[^,.!?]{3,60}?_(?:for|since)_(?!hours|ages_now|a_while|the_last_hour|minutes)\w
    fact my_(?:\w+_)?(?:pronouns|hobby|hobbies|job|major|shoe_size|size|time_?zone|address|e-?mail|(?:phone_)?number|
        blood_type|height|birthday|bday|nickname|handle|username|native_language|mother_tongue|hometown|
        anniversary)(?:_(?:is|are)|'?s)_(?!not|wrong|so|too)\w
    rule (?:when|if)_(?:i|you|we|u)_[^,!?]{3,80}?,?_(?:i_mean|then_always|(?:please_)?(?:always|never|only|don'?t|do
        _not)_{verbs}\b)
    rule (?:stop|quit|enough|no_more)_(?:with_|w_)?(?:the_|your_|all_)*(?!that|this|it\b)\w[^,?!]{2,40}?_(?:with|for|
        when|in_(?:my|your|the))_\w
    constraint (?:every|each|all_our|all_my)_(?:[\w/-]+_){1,4}?(?:needs?|requires?|gets?|goes_through|go_through)
        _(?!to_(?:die|stop)|love|help)\w
    rule? {ask}(?:always|never|only)_\w+ing_(?!it\b|this|that)\w
    constraint~ nothing_(?!else|to|yet|serious|important|fancy_yet)(?:[\w-]+_?){1,4}{end}
    correction^ i_(?:meant|mean)_(?!to\b|that\b|it\b|what\b|the_(?:first|second|third|last|other)|this|like)\w
    correction (?:it'?s|my_name(?:'s|_is)|that'?s)_(?:spelled|spelt|pronounced)_(?!wrong|like_that)\w
    rule? {ask}{verbs}_(?:[\w']+_){0,8}?(?:always|only_ever|for_good)\b(?!_in_a_)
    change (?:my|our)_[^,.]{2,50}?_(?:is|are)_now_(?!{fleeting})\w
    fact* (?:i'?m|i_am|we'?re)_(?:on|in|with|using|at)_(?-i:[A-Z])\w+
    rule? {ask}keep_(?:it|your|the|all|every|things|my)_(?:(?:[\w'-]+_){0,4}?(?:when|if|with|for)_(?:u|you|i|me|my)\b|
        {answers}_\w)
    constraint (?:for|in|with|on|during|at|when|after|before)_[^,.!?]{2,40}?,?_(?:please_)?(?:so_)?(?:always_{act}|
        never_{act}|(?:no|only)_(?:[\w'-]+_){0,3}?[\w'-]+(?:{end}|,)|don'?t_{act}_\w)
    change (?:i|we)(?:'ve|ve|_have)?(?:_(?:just|recently|finally|now))?_(?:moved|relocated)(?:_away|_house)?_from
        _{old}_+to_\w
    change (?:i|we)(?:'ve|ve|_have)?(?:_(?:just|recently|finally|now))?_(?:moved|relocated)_(?:in)?to_(?!the_(?:next|
        sofa|other)|an?_|my_|another|next|it\b|tears)\w
    change (?:i|we)(?:'ve|ve|_have)?(?:_(?:just|recently|finally|now))?_(?:switched|migrated|changed|converted)(?:
        _over)?_from_{old}_+to_\w
    change (?:i|we)(?:'ve|ve|_have)?(?:_(?:just|recently|finally|now))?_(?:switched|migrated|converted)(?:_over)?_to
        _(?!the_|a_|it\b|this|that)\w
    change (?:i|we)(?:'ve|ve|_have)?_(?:just_|recently_)?(?:changed|updated|renamed)_(?:my|our)_[^,.]{2,40}?_from
        _{old}_+to_\w
    change (?:i|we)(?:'m|m|_am|_are|'re)?_no_longer_(?!know|understand|care|want|think|remember|believe|see|feel|need|
        sure|have_time)(?P<old>[^,;!?]{2,60}?){end}
    change (?:i|we)_(?:don'?t|do_not)_(?!know|understand|care|want|think|remember|believe|see|feel|need|have\b|get|
        like|love)(?P<old>[^,;!?]{2,60}?)_any_?more\b
    change (?:i|we)(?:'ve|ve|_have)?_(?:just_|recently_|finally_)?(?:quit|stopped|given_up|gave_up)_(?P<old>(?!trying|
        working_on|reading|worrying|by\b|at\b|on\b|for\b|the\b|there|caring)\w[^,;!?]{2,60}?){end}
    change (?:i|we)_used_to_{old},?_(?:but_|and_)?(?:now|these_days|nowadays)\b
    change* (?:i|we)(?:'ve|ve|_have)?_(?:just_|recently_)?(?:replaced|swapped|traded)_{old}_(?:with|for|by)_\w
    change (?:my|our)_[^,.]{2,50}?_(?:is|are)_now_[^,]{2,60}?_instead_of_{old}{end}
    change (?:my|our)_[^,.]{2,50}?_(?:has_)?changed_from_{old}_+to_\w
    constraint {ask}(?:you|u)_(?:must|have_to|need_to|are_required_to|shall|may_not|must_not|mustn'?t|are_not_allowed
        _to|can_?not|can'?t|should_(?:always|never|not))_(?:always_|never_|not_|only_|ever_)?{verbs}\b
    constraint (?:(?:all|every|each|any|no|none_of|your|the|my|our|these)_)?(?:[\w'-]+_){0,3}?{things}_(?:must|ha(?:ve|
        s)_to|needs?_to|(?:are|is)_required_to|shall|may_not|should_(?:always|never))_(?!have_been|have_had|be
        _(?:tired|nice|wrong|hard|fun|rescheduled|moved|cancell?ed|changed|fixed|done|sent|finished)\b)\w
    constraint (?:all|every|each|any|no|none_of|only)_(?:(?:of|the|our|my)_){0,2}(?:[\w'/-]+_){1,5}?(?:must|ha(?:ve|s)
        _to|needs?_to|shall|may|mustn't|can't|cannot|can_only|should|(?:is|are)_(?:not_)?(?:allowed|required|forbidden|
        to_be|supposed))_(?!have_been|be_(?:tired|nice|wrong|hard|fun|crazy|kidding)|die\b)\w
    constraint (?:[\w'-]+_){1,10}?(?:is|are)_(?:always_)?(?:required|mandatory|obligatory)_(?:for|in|with|at)_(?:every|
        each|all|any|my|our)_(?:[\w'-]+_)?\w
    constraint? {ask}(?:don'?t|do_not|never)_(?:you_|u_)?ever_(?:again_)?{act}
    constraint {ask}(?:under_no_circumstances|on_no_account|in_no_case|at_no_time|by_no_means)_\w
    constraint (?:don'?t|do_not)_{act}_(?!me_(?:you|beg|wait|laugh|feel|sad|cry|do|go|that|how|what)|it\b(?!_in|_to)|
        this\b|that\b|these\b|those\b|them\b|him\b|there\b|here\b|yet\b|now\b|anything{end}|too\b|about\b|me_(?:wrong|
        down|alone|sad|cry|laugh)\b|the_(?:word|phrase)\b[^.]*$)\w
    rule? {ask}(?:always|never)_(?!ever_)(?:please_|again_)?(?:{act}|have_(?:the|a|my)|take_notes|see_to)
    rule? {now},?_(?:{could})?(?!(?:i|we|he|she|it|they)_(?!say|write|ask|send|call|want|prefer|would_(?:prefer|like)|
        text|tell|mention|use)|(?:can|could|will|would|do|does|did|is|are|what|how)_)\w
    rule {ask}(?:don'?t|do_not)_{act}_[^,!?]{2,80}?_(?:any_?more|ever|again)\b
    rule (?:whenever|every_time|each_time)_(?:i|you|we|u)_[^,!?]{3,80}?,?_(?:i_mean|(?:please_)?(?:(?:always|never|
        only|don'?t|do_not|just)_)?{verbs}\b)
    rule? {ask}(?:call|address|refer_to)_me_(?!the_|back|later|when|at\b|tomorrow|tonight|an?\b|crazy|maybe|if\b|on\b|
        in\b|once|after|old|by_(?:phone|\d)|again|asap|paranoid|stupid|now|please$|soon|with_it|for)\w
    preference {i}(?:prefer|love|like|hate|dislike|adore|enjoy|despise|detest|loathe|avoid){passing}_+\w
    preference (?:i|we)(?:'d|d|_would)_(?:much_|really_)?(?:rather|prefer)(?!_+(?:not_to|an?|go|stay|do|take|the
        _(?:first|second|third|last|other)|this|that|it\b|wait|leave|see|talk)\b)_+\w
    preference {i}(?:don'?t|do_not)_(?:really_|particularly_|rly_)?(?:like|enjoy|love|want_(?:any|to_(?:hear|see|read|
        get))){passing}_+\w
    preference {i}(?:can'?t|cannot|can_not)_(?:stand|bear){passing}_+\w
    preference (?:(?:i'?m|i_am|we'?re|we_are)_|(?=not_))(?:not_)?(?:really_|so_|totally_)?(?:(?:a_)?(?:big_|huge_)?fan
        _of|(?:not_)?(?:into|fond_of|keen_on)|(?:not_)?(?:an?_|much_of_a|more_of_a)[^,]{2,30}_(?:person|guy|girl|
        lover)){passing}
    preference my_(?:absolute_|all-time_)?(?:fav(?:ou?rite|e|s)?|prefer(?:red|ence))[^,.!?]{0,60}?(?:_(?:is|are|for)|
        s)_(?!that\b|this\b|the_(?:first|second))\w
    decision (?:so_)?(?:we|i)(?:'re|re|_are|'m|m|_am|'ll|ll|_will|'ve|_shall)_(?:now_|definitely_|both_)?(?:be
        _)?(?:going_with|go_with|sticking_(?:with|to)|stick_(?:with|to)|dropping|naming|launching|standardi[sz]ing_on|
        not_going_to|never_going|committed_to|settled_on)_(?!it\b|this\b|that\b|the_(?:first|second|flow))\w
    decision (?:(?:final_|the_)?decision|it'?s_(?:decided|settled)|decided)_?(?:is|was|made)?[:,.–—-]?_+(?!by\b|yet)\w
    decision (?:i|we)(?:'ve|_have)?_made_(?:up_)?(?:my|our|the|a)_(?:mind|decision)
    correction^ {said}(?!not_|ok\b|fine|great|good\b)\w
    correction^ {np}{is}{vague}(?:[\w'.:/@%€$+-]+_){0,7}?[\w'.:/@%€$+-]+{end}
    correction^* (?:it|he|she|this|that|they)_?'?(?:s|_is|_are|_was|re)_{vague}(?!\w+ing\b)(?:[\w'.:/@-]+_){0,6}?\w
    correction* (?:(?:it|that)(?:'s|s|_is|_was)_)?not_(?!only|just|bad|good|me\b|him\b|her\b|you\b|us\b|them\b|so|too|
        that|this|sure|always|all\b){old},?_(?:but|it'?s)_(?:rather_)?(?!not\b|also\b|i\b|we\b|it\b|you\b)[^,]{2,60}$
    correction* i_(?:meant|said|mean)_[^,]{2,60}?,?_(?:and_)?not_{old}{end}
    correction* (?:it|that|he|she|i|we|(?:my|his|her|our|the)_[^,]{2,30}?)_?(?:'s|s|is|are|'?m|'re)_[^,]{2,40}?,?
        _(?:and_)?not_(?!bad|so|too|sure|only|just|that|working|a_good|good){old}{end}
    correction^ {vague}(?:[\w'-]+_){0,8}?[\w'-]+,?_not_(?!sure|so\b|too\b|only|just|really|that\b|a_|an_|the_best|
        working|able|going|in_the_mood|interested|good|bad|ok|fine|my_|sorry|happy|enough){old}{end}
    fact (?:i|we)_(?:also_|still_|actually_|currently_|only_|both_)?(?:live(?!_for\b)|reside|grew_up|was_(?:born|
        raised)|work|study|studied|teach|volunteer|speak|own|drive|ride|play|collect|run|wear|suffer|commute|code|
        program|grow|manage|host|breed|belong|sing|train|keep|coach|foster|practi[cs]e|rent)_(?!for_you|it\b|this|that|
        out_of|away|into|through|on_(?:it|this|that|the)|too\b|hard|so\b|the_(?:risk|script|code|command|test)|up\b|
        track|getting|thinking|around\b)\w
    fact (?:i'?m|i_am|we'?re|we_are|im)_(?:also_|actually_|still_|originally_|currently_|severely_|very_|super_|
        deathly_|mildly_|pretty_|not_)?{lasting}
    fact (?:i|we)(?:'ve|ve)?_(?:also_|only_|actually_|both_)?(?:have|have_got|(?<=ve\s)got|got(?=_(?:one|two|three|
        four|\d)))_(?:an?|one|two|three|four|five|six|no|\d+|type|chronic|severe|my_own|celiac|twin)_(?!(?:[\w'-]+
        _){0,2}?{fleeting}\b)\w
    fact (?:i|we)_(?:don'?t|do_not|never|can'?t|cannot|can_not)_(?:really_|usually_|even_|ever_)?(?:eat|drink|smoke|
        drive|cook|own|speak|wear|tolerate|digest|do_(?:dairy|gluten|shellfish|meat|sugar|alcohol|caffeine|mornings|
        calls|meetings)|swim|celebrate|fly|touch|have_(?:a|any|kids|children|pets|dairy)|use|take|work_(?:on|at|from))
        _?(?!it\b|this|that|much_time|to\b|your|any_(?:idea|time|questions|clue)|a_(?:clue|lot|minute|problem))\b
    fact* (?:my|our)_(?:[\w'/-]+_){0,3}?[\w/-]+(?:_(?:is|are)|'s)_(?!not|really|so|too|very|still|the_(?:best|worst)|
        going|getting)\w
    fact my_[\w'-]+s_name(?:_is|'s|s)_\w
    fact {mine}_(?!always|never)(?:just_|also_|still_|now_)?(?:lives?|works?|studies|goes_to|attends|speaks?|plays?|
        runs_(?:on|in|a|the|at)|uses?|sits|meets?|opens|starts|ends|closes|naps?|takes|teaches|drives|owns|turns_\d+|
        (?:can'?t|cannot|doesn'?t|don'?t)_(?:eat|drink|do|have|tolerate|speak|take|drive)|(?:has|have)_(?!to\b|been|
        never|not|already|just|always|no_(?:idea|clue)|(?:\w+_){0,2}?{fleeting}))_?\w
    correction^ (?:it|he|she|they|that|this)(?:'s|s|_is|'re|_are)_{vague}(?:[\w'-]+_){0,4}?[\w'-]+,?_not_(?!sure|so\b|
        too\b|just|only|that|really)\w
    rule (?:when|if)_(?:i|you|we|u)_[^,!?]{3,60}?,?_(?:just|only)_{verbs}\b
    rule when(?:ever)?_(?:you|u)_(?:quote|write|give|list|answer|reply|respond|suggest|mention|talk|convert|plan|
        recommend|explain|translate)_[^,!?]{2,60}?,?_{verbs}_\w
    rule? {ask}be_(?:more_|less_)(?:brief|concise|formal|polite|honest|specific|direct|casual|critical|blunt|verbose|
        chatty)\b
    rule? {ask}(?:write|answer|reply|respond|talk|speak)_(?:to_me_)?(?:more_|less_)?(?:shorter|briefly|concisely|
        simply|formally|casually)\b
    fact (?:i'?m|i_am)_(?-i:[A-Z][a-z]+)(?:{end}|_and_|_by_the_way)
    correction^* {np}\w+s_(?:on|in|at|to|by|with|from)_[^,?!]{1,40}{end}
    fact our_(?:[\w/-]+_){1,3}?(?:run|live|use|sit|start|meet|work)_(?:on|in|at|with)_\w
    constraint (?:i|we)_(?:must_not|mustn't|may_not|am_not_allowed_to|'m_not_(?:allowed|supposed)_to)_\w[^?!]{5,}
    change (?:i|we)_now_(?:live|work|use|drive|study|go)_\w
    constraint we_(?:must|have_to|can'?t|cannot|mustn'?t|may_not|shall_not|don'?t_ever|never|always|only)_(?:ever_|
        never_|always_)?(?:{verbs}|encrypt|require|support|comply|store|accept|expose|hardcode|touch|sign|review)
        _(?!it\b|this\b|that\b|now\b)
    constraint (?:it_is|it's|its)_(?:mandatory|forbidden|essential|required)_(?:that_you|to)_{verbs}\b
    rule? {ask}{verbs}_[^!?]{2,100}?_(?:{now}|{after})\b
    rule? {ask}{verbs}_(?:[\w']+_){1,9}?(?:every_(?:single_)?time|each_time|at_all_times|when(?:ever)?_(?:i|you|u|we)|
        unless_i|by_default)\b
    rule? {ask}only_(?:ever_)?{verbs}_(?!this\b|that\b|it\b|the_(?:first|second|last))\w
    change (?:i'?m|we'?re|i_am|we_are)_(?:not|no_longer)_{old}_any_?more\b
    constraint [^,.!?;]{3,60},_never_(?:in|on|to|with|from|by|an?|the|via|after|before)_(?!life|way|same)\w
    constraint all_{things}_(?:always_)?(?:in|as|with|without|by)_\w+(?:_\w+){0,2}{end}
    constraint~ no_(?:more_)?(?!its?\b|it's|thanks|thank|problem|idea|way|worries|one|need|rush|i\b|it\b|that|this|you|
        not)(?:[\w'-]+_){0,4}?[\w'-]+{end}
    decision we(?:'ll|_will)_be_(?!there|back|late|in_touch|ok|fine)\w+ing_(?!to\b|for_you|you\b)\w
    decision (?:we|it|the|i)\b[^?!]{5,80},_(?:it'?s_)?(?:final|decided|settled)\b
    correction the_(?:right|correct|proper|actual|real)_[\w' ]{3,40}?_(?:is|was)_{vague}\w
    rule? {ask}{verbs}_(?:[\w'-]+_){1,8}?even_(?:if|when)_
    constraint everything_[^,.!?]{3,50}?_(?:must|has_to|should_(?:always|never)|needs_to)_(?!have_been)\w
    constraint (?:it_is|it's|its)_(?:our|my)_(?:policy|rule)_\w
    decision (?:so_)?going_with_\w[^,?!]{0,40}?(?:_instead|_over_|,_(?:decided|final))
    constraint so_(?:no|nothing_with)_(?!one|idea|far|problem|need|worries|more_than)\w+
    rule (?:stop|quit|enough)_(?:with|w)_(?:the|your|all)_\w
    constraint {things}_(?:to|for|from|of)_(?:\w+_){1,2}?(?:must|ha(?:ve|s)_to|needs?_to|shall|should_(?:always|
        never))_(?!have_been)\w
    rule? {ask}{verbs}_(?:[\w'-]+_){0,4}?(?:to|with)_(?:me|us)_in_(?!person|private|advance|an?_|the_)\w
    correction^ (?:they|it|he|she|we|i)(?:'?re|'?s|'?m|_are|_is|_am)_(?:in|at|on|from|for|with)_(?!the_way|trouble|it|
        that|this|here|there|a_(?:good|bad))\w
    constraint+ we_(?:don'?t|do_not)_(?:ever_)?{verbs}_(?!it\b|this|that|you)[^?!]{4,}
    rule~ (?!the|this|that|my|your|an?|some)\w+_{things}_in_(?!the|this|that|my)\w
    constraint (?!(?:it|that|this|he|she|they|i|you|we)\b)(?:[\w/-]+_){1,5}?(?:must|shall|have_to|has_to)_be_\w+(?:ed|
        en)_(?:by|before|within)_\w
    change i(?:'ve|ve|_have)?_(?:just_|recently_|finally_)?(?:got_(?:married|engaged|divorced|promoted|an?_(?:new
        _)?(?:job|dog|cat|puppy|kitten|car|bike))|adopted_an?|became_an?|started_(?:a_new|working_(?:at|as|for)|as_an?|
        at_\w+)|retired|graduated|turned_\d+|had_a_(?:baby|son|daughter)|(?:was|been|got)_diagnosed|joined_(?!the
        _call))\b
    constraint no_(?:more_)?(?!thanks|thank|problem|idea|way|worries|one|doubt|clue|chance|need|comment|rush|matter|
        wonder|off?en[cs]e|time|luck|pain|longer|i|it|its|that|this|the|you|we|he|she|joke|kidding|biggie|shit|cap|
        wait|sorry|not|please|really|hard|big|reason|point|good)(?:[\w'-]+_){1,4}?(?:please|pls|plz|ever|for_me|in_my|
        in_the|when|unless|after|before|on_(?:weekends|sundays))\b
    rule {now},?_(?!(?:i|we|he|she|it|they)_(?!say|write|ask|send|call|want|prefer|text|tell|mention|use))\w
    rule {after},?_(?:please_)?(?:you_|(?:always|never|only|don'?t|do_not|no)_|{verbs}\b)
    rule? {ask}(?:stop|quit|cease|avoid|refrain_from)_(?!being_|worrying|it\b|by\b|the\b|this\b|at\b)\w+ing_(?!it\b|
        this\b|that\b|now\b)\w
    rule (?:metric|celsius|lower_?case|24[-_]?h(?:our)?|text|short_{answers}|{answers}_in_[\w_]{3,20})(?:
        _[\w-]+){0,3}?_only\b
    preference {i}(?:want|need)_(?:(?:all|your|my|every|short|shorter|brief|fewer|no)_){1,3}(?:\w+_){0,2}?{answers}\b
    fact i_(?:also_)?have_(?:bad_|severe_|mild_)?(?:asthma|diabetes|co?eliac\w*|adhd|add|dyslexia|hypertension|
        arthritis|migraines|epilepsy|psoriasis|eczema|ibs|pcos|lupus|tinnitus|insomnia|anxiety|depression|autism|gout|
        reflux|kids|twins)\b
    fact i_(?:usually|normally|typically|mostly|generally|always|never)_(?:wake|get_up|go_to|eat|drink|take|have|work|
        wear|buy|cook|sleep|start|commute|shop|train|run|order|read|study)_(?!it\b|this|that)\w
    constraint no_(?!one|idea|way|more_than|problem|need|i\b|matter|luck|news|time|sign|response|sooner)(?:[\w'-]+
        _){1,3}?(?:before|after|on|during|in_(?:my|the)|for_(?:me|my))_(?!this|that|it\b)[\w' -]{2,30}{end}
    change (?:i|we)_(?:just_|recently_)?(?:adopted|got|bought)_an?_(?:\w+_)?(?:dog|cat|puppy|kitten|house|car|bike|
        flat|horse|baby)\b
    preference (?!these|those|they|you|people)(?:[\w'-]+_){1,3}(?:annoy|irritate|bore|drive_me_(?:nuts|crazy|mad)|bug)
        _?(?:me)?{end}
    change (?:i|we)_(?:can'?t|cannot)_(?!take|stand|wait|see|find|remember|even|do_(?:it|this|that)|believe|handle|
        hear|open|think|sleep)(?P<old>[^,;!?]{2,40}?)_any_?more\b
    change (?:as_of|starting|since)_(?!today|tomorrow|yesterday)(?:(?:this|next|last)_)?\w+,?_(?:i|we)(?:'m|'re|_am|
        _are)?_(?:live|work|use|living|working|studying)_\w
    constraint (?:our|my)_(?:[\w'/-]+_){1,4}?(?:must|mustn't|shall|ha(?:s|ve)_to|needs?_to)_(?!have_been|be_(?:tired|
        nice|wrong|crazy|hard|fun|out|in)|go|leave|call|get|see)\w
    rule (?:just_|only_)?(?:write|speak|talk|reply|answer|respond|text|message)_(?:to_me_|me_|back_)?(?:in|with|
        without|like)_(?:[\w-]+_){1,6}?(?:only|please|pls|always)$
    preference (?:i|we)(?:'d|d|_would)_(?:really_)?(?:appreciate|like|love|want)_(?:(?:it_)?if_you_|(?:your_|all_|my_|
        shorter_|longer_|short_|brief_|more_|fewer_|less_|\w+_){0,2}{answers}_(?!to\b))
    correction^ its?'?s?_{vague}(?:[\w'.:/@-]+_){1,4}?(?:with|without|not)_(?:an?_)?\w
    correction i_meant_(?!to\b|that\b|it\b|what\b|well\b|no\b)\w
    rule? {ask}{verbs}_(?:[\w'-]+_){1,8}?(?:in|for|with|on|to)_(?:everything|all_(?:my|our|your|of_my)|every_\w+
        _(?:you|i|we)|any_\w+_(?:you|i|we))\b
    correction* (?!you|i\b|he|she|they|we|if|when)(?:[\w'/-]+_){1,3}?(?:is|are|runs|starts|goes|listens)_[^,]{2,40}?,
        _not_(?!sure|so|too|only|just|that|bad){old}{end}
    preference (?:i|we)(?:'d|d|_would)?_(?:really_)?(?:want|need|like|love|prefer)_(?:you|u)_to_(?:be|stop|keep|avoid|
        treat|call|address|speak|talk|use|always|never|not|only)_(?!this|that|it\b)\w
    correction^ (?:[\w'/-]+_){1,4}?(?:isn'?t|is_not|aren'?t|are_not|wasn'?t)_(?!sure|working|that|so|bad|good){old},?
        _(?:but|it'?s|they'?re)_\w
    constraint (?!it|that|this|he|she|they|i|you|we|there)(?:[\w/-]+_){1,4}?(?:is|are|get|gets)_(?:(?:always|never|
        only)_\w+ed\b|\w+ed_(?:[\w/-]+_){0,5}?only{end})
    rule i_(?:must_|would_|have_to_|kindly_)?ask_(?:that_)?(?:you|u)_(?:to_)?(?:never|always|not|please|refrain|only|
        use|keep|address)_?\w
    constraint never_(?:any|anything_with)_\w+(?:_\w+){0,3}{end}
    rule {situation}[^,?!]{2,60}?_(?:leave_out|keep|give_me|tell_me|use|include|add|skip|avoid|always|don'?t)
        _\w[^?!]{3,}
    constraint+ we_(?:can't|cannot|aren't_allowed_to|must_not)_have_(?!it|this|that)\w[^?!]*?_(?:in|at|on)_\w
"""
TABLE = table(WORDS, AROUND, PHRASES)
