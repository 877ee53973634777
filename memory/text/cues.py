"""Word lists for understanding messages, in English, German, Spanish, French, Russian, Ukrainian and Chinese.

Words are inflected forms in lower case. Chinese has no spaces between words, so it has phrases instead.
"""

from __future__ import annotations

ACKNOWLEDGEMENTS = frozenset(
    "ok okay thanks thank thx ty hi hello hey bye goodbye yes yeah yep no nope sure great good nice cool perfect "
    "morning evening night welcome please sorry lol haha hahaha wow yay congrats congratulations cheers awesome "
    "amazing lovely wonderful glad "
    "спасибо привет здравствуй здравствуйте пока да нет хорошо ладно понял поняла ок ага угу ого класс круто супер "
    "отлично замечательно прекрасно добрый доброе доброй день вечер утро утра большое огромное пожалуйста извини "
    "извините прости ура хаха ахаха рад рада приятно поздравляю спокойной "
    "дякую привіт вітаю добре так ні гаразд добрий доброго вечір ранок ранку дуже чудово супер клас круто будь ласка "
    "вибач вибачте пробач щиро радий рада приємно надобраніч бувай ого "
    "danke dankeschön hallo hi tschüss tschüs ja nein gut gute guter gutes guten schön schöne schönen schönes vielen "
    "dank morgen abend nacht bitte entschuldigung super toll prima klasse wunderbar freut servus moin gracias hola "
    "adiós adios sí no vale bueno buena buenos buenas días dias tardes noches genial perfecto perdón perdona claro "
    "jaja jajaja estupendo encantado encantada gusto muchas felicidades "
    "merci bonjour bonsoir salut oui non bonne bon bien journée soirée nuit beaucoup super parfait génial désolé "
    "désolée pardon bravo haha mdr content contente ravi ravie félicitations revoir lot very "
    "你好 谢谢 好 好的 是 不是 再见 嗯".split()
)
"""Greetings, thanks and agreement. A message of only these words is small talk."""

GREETINGS = frozenset(
    "thanks thank thx hi hello hey bye goodbye haha hahaha lol sorry welcome congratulations congrats morning evening "
    "night alright yeah okay ok "
    "спасибо привет здравствуй здравствуйте доброе добрый доброй пока ха хаха извини прости спокойной "
    "дякую привіт вітаю добрий доброго добраніч надобраніч вибач пробач бувай "
    "danke hallo tschüss tschüs guten entschuldigung gracias hola adiós buenos buenas jaja perdón vale "
    "merci bonjour bonsoir salut bonne pardon désolé désolée mdr".split()
)
"""Greetings, thanks, goodbyes and laughter. A message with one of these is seldom about something else."""
RECALLING = frozenset(
    "tell told remind remember recall know please again said say mention mentioned "
    "erzähl erzähle erzählt erinnere erinner bitte nochmal weißt gesagt sag sagte "
    "dime cuéntame recuérdame recuerdas favor sabes dije dicho otra vez rappelle dis sais plaît encore dit "
    "скажи расскажи напомни помнишь пожалуйста знаешь снова говорил говорила сказал сказала "
    "розкажи нагадай пам'ятаєш будь ласка знаєш знову казав казала".split()
)
"""Words that only ask to recall something, without saying what."""
REQUESTS = frozenset(
    "tell remind show give find list recall remember name explain write search look help erzähl sag erinnere zeig gib "
    "finde such nenne erkläre schreib dime cuéntame recuérdame recuerda muéstrame busca explica escribe dis rappelle "
    "montre donne trouve cherche explique écris скажи расскажи напомни покажи дай найди вспомни объясни напиши скажи "
    "розкажи нагадай покажи дай знайди згадай поясни напиши".split()
)
"""Words of requests without a question mark."""

PLEASANTRIES = frozenset(
    "thinking never without far sharing share hurry cheer cheers came come coming comes joking kidding seriously "
    "honestly believe bet guess suppose maybe perhaps probably definitely certainly obviously anyway whatever already "
    "yet even though although because bye bit bored busy tired awake call day night nights week yesterday lately "
    "recently past ready done start started end ended rainy sunny cold warm hot weather brilliant fabulous excited "
    "exciting cute sad bad terrible awful hard easy true correct damn gosh god omg dude buddy mate bro man guys folks "
    "pal fingers crossed blessed grateful thankful owe pleased honor honour laughing hilarious amused amusing joke "
    "jokes hug hugs kiss kisses miss missed proud nothing none more most less least first last next same other "
    "another either both only again all also always anytime appreciate appreciated asking back best better big care "
    "catch chat chatting "
    "course d day days dear doing don dreams enjoy enjoyed ever everything excellent exactly feel feeling fine "
    "fantastic feels friend fun funny glad go goes going happy hear hearing help helped helpful helping here hope "
    "hoping indeed interesting isn just keep kind kindly know later laugh laughed laughing life like likewise little "
    "long love loved m made make makes mean means meet meeting mind moment much need news now oh pleasure problem "
    "proud pretty quick quite really relax rest right say saying see seeing seems sleep sleeping slept smile "
    "something soon sound sounds speak still such super support sweet take talk talking tell thanking thing things "
    "think thought tight time today together tomorrow tonight too totally true try understand wait way week weekend "
    "well wish wishing wonderfully wondering work world worries worry worrying yourself yours absolutely agree "
    "everyone anyone someone got get getting hows whats im thats dont youre its couldn wouldn didn doesn won can't "
    "cant one two lieben deine deiner deinen bringst bringt dann reden geredet reichen jemand etwas nichts nochmal "
    "erst schon mal doch eben halt ach oh hey leider traurig müde langweilig wetter glücklich froh finde findest "
    "meinst meine meinen denke denkst glaube weiß weißt komm kommst geh gehe gehst lass mehr meisten ganze ganzen "
    "ruhe ruh träum träume süße süßen erhol liebsten grüße gruß kuss umarmung fühle fühlst hört hören gehört gesehen "
    "war warst wäre würde könnte sollte gibt neue neuen nächste nächsten bald später alles auch besser beste dir euch "
    "freue fein freund ganz gar geht gehts genau gerne gern glück "
    "gerade geschlafen heute hilfe helfen hilfst hast hoffe hoffentlich immer jetzt klar kein keine kurz lach lachen "
    "lange lieb liebe lieber lustig machs mach machst melde nachher naja nett neues okay passt problem prost richtig "
    "sagen schlaf schlafen schlafe schnell sehen sehr sicher sonst spaß später stimmt tag tage tut unterhaltung viel "
    "viele vielleicht voll wahr weiter wieder wirklich witzig woche wochenende wohl wünsche wünsch zeit zusammen "
    "cómo hayas dormido hecho mañana descanses descansar descanse contigo otra otro vez eres sido estado estoy "
    "estamos haces haciendo mejor mejores peor cansado cansada aburrido triste contento contenta risa reído bromas "
    "chiste hablando hablado charlar nuevo nuevamente parece verte vernos oír escuchar quiero quieres puedo puedes "
    "sabes sé dulces duerme duermas dormir cuéntame dime entonces pues ya además quizás nunca nadie algo alguien "
    "maravilloso maravillosa fantástico fantástica amor cariño querido querida ti mí ayudado servido agrada semana "
    "abrazo aquí agradezco agradecido agradecida ahora alegra alegro amigo amiga amable ayuda ayudar ayudarme así "
    "bien bonito bonita besos cuídate cuidate cosa cosas creo cuenta descansa día dia divertido espero estás estas "
    "excelente feliz fin finde gran gracioso hablamos hablar hace hacer hasta hoy igual igualmente increíble "
    "interesante linda lindo luego maravilla mejor momento mucho nada noche noticia noticias pasa pasado pases pronto "
    "que quedo qué razón reír río saludos saber semana siempre siento sueños suerte tal también tan tanto tarde todo "
    "todos va vas verdad vemos vez vida "
    "trop fais toujours beaux belle beau nouveau nouvelle fait été avais avait était serait ferais sais sait peux "
    "peut veux veut crois pense penses dis dit dire raison exactement jamais personne quelque quelqu chose rigole "
    "rigolo rigolé blague triste fatigué fatiguée ennuie contente parlé parlons discuter discute retrouver revoir "
    "réveil reposé reposer repose-toi repose doux douce fantastique magnifique formidable courage pas grave problème "
    "souci inquiète même aussi autre autres deux fois heure cher chère bisous bise câlin ton toi accord ai aider aide "
    "aidé aimable ami amie aujourd hui alors après amuse appris bientôt ça cela choses "
    "comment compris content cool demain dors dormi drôle encore espère excellent fait faire fin forme gentil "
    "gentille heureux heureuse ici intéressant jour jours journée mieux moment merveilleux nouvelle nouvelles parler "
    "passe passer passez plaisir plus prends prochaine quoi rien rire rêves sens semaine sera soin soir super sympa "
    "tard temps tout toute tous très tôt va vais vas vie voir vraiment vrai week-end weekend "
    "тебя ха хе давно общались общаемся тогда потом затем думал думала думаешь знаю знаешь хочу хочешь могла мог буду "
    "будет будешь есть просто совсем никогда никто кто-то скучно скучал скучала грустно устал устала погода счастлив "
    "счастлива весь весь-то день-то поняла рассмеялся шутишь шучу серьезно серьёзно честно наверное может быть "
    "конечно-то наконец ещё раз разговор беседа слышал слышала видеть видел увидел вижу дорогой дорогая друзья "
    "хорошенько отдыхай отдохни отдохнул выспись приснится обязательно удачной отличного отличный отличная "
    "замечательный новое такая такой такое самое самый лучший лучшая твою твоя твоей вам вами большая благодарен "
    "благодарна будем веселая весело вообще время всего всем всё-таки выспался выспалась выходных "
    "выходные говорить делаешь дела дело день дня добра друг думаю здорово здесь интересно как-то конечно ладненько "
    "лучше люблю много могу можно молодец мило мне надеюсь настроение неделя недели ничего новости нового ночи ночь "
    "нормально нравится нужно обнимаю общаться общения очень опять пообщаться поговорить поговорили позже пойду помог "
    "помогла помощь понимаю пора посмеялся посмеялась правда прекрасного приятного просто прям прямо рассмешил "
    "рассмешила рассказал сегодня сейчас сил скоро сладких слышать слушай смешно снов снова спал спала спать спишь "
    "спокойного согласен согласна спасибочки стало супер теперь тебе тобой тоже только точно тут удачи удачного "
    "улыбнуло увидимся хорошего хороший хорошая хорошее хороших целую чем чувствуешь шутка это-то жизнь завтра себя "
    "береги поживаешь поживаете "
    "тебе ха хе тоді потім давно добраніч спілкувалися спілкувались думав думала думаєш знаю знаєш хочу хочеш міг "
    "могла буде будеш просто зовсім ніколи ніхто нудно сумував сумувала сумно втомився втомилась погода щасливий "
    "щаслива весь жартуєш жартую серйозно чесно мабуть можливо нарешті ще раз бесіда чув чула бачити бачив побачив "
    "бачу дорогий дорога друзі відпочивай відпочинь виспись обов'язково вдалого чудова нове така такий таке найкращий "
    "найкраща найкраще твою тобі вам вами дякуючи справжній мене маєш маю поживаєш поживаєте надобраніч багато бережи "
    "буду веселого весело взагалі виспався виспалась вихідних вихідні всього гарний гарна гарно гарного "
    "говорити дивовижно дня день допоміг допомогла допомогу допомога друже думаю зараз завтра звичайно звісно знову "
    "життя згоден згодна краще кращого люблю можна мабуть мило надіюся новини нового ночі ніч нічого настрій обіймаю "
    "пізніше побачимося побачимось поговорити поговорили порозмовляти почути почуваєшся правда приємного просто "
    "розсмішив розсмішила розумію розмову розмова сьогодні себе скоро смішно снів солодких спав спала спати справді "
    "справи спокійної спілкуватися тиждень тижня теж також тепер точно тут тобі тобою усього успіхів цікаво час "
    "чудового чудовий сподіваюся сподіваюсь ся".split()
)
"""Other words of small talk. A message of only these words may still mean more."""

SMALL_TALK_PHRASES = (
    "你好 您好 大家好 早上好 早安 上午好 下午好 晚上好 晚安 谢谢 多谢 感谢 非常感谢 不客气 不用谢 没关系 没事 对不起 "
    "不好意思 抱歉 再见 拜拜 回头见 明天见 回见 好的 好吧 好啊 好呀 好棒 真好 太好了 真棒 太棒了 不错 挺好 很好 可以 "
    "行 嗯 哦 哈 啊 呀 吧 呢 吗 了 的 是 不是 对 没错 当然 知道 明白 懂 我 你 您 们 也 都 很 非常 真 真的 太 就 那 这 "
    "今天 今晚 最近 现在 过得 怎么样 怎样 如何 还好 开心 高兴 愉快 心情 祝 希望 一切 顺利 有 一个 美好 周末 晚上 早上 "
    "一天 休息 睡 做个好梦 做 好梦 我们 明天 再聊 后天 昨天 想 想你 觉得 认为 一样 同意 累 无聊 难过 伤心 生气 天气 "
    "朋友 亲爱的 爱 喜欢 马上 等 慢慢 来 去 走 先 这样 那样 这么 那么 从来 总是 最 更 多 少 为 你真 让 让我 让人 好久 "
    "不见 好久不见 快 快乐 幸福 运气 加 也是 呵呵 嘻嘻 哎 唉 哇 哟 嘛 啦 哦 保重 照顾 好 自己 帮助 帮 帮忙 见到 认识 "
    "聊天 聊 跟 和 下次 以后 再 吃 饭 吃饭 什么 "
    "新鲜事 有趣 好笑 笑 死 有意思 厉害 辛苦 加油 恭喜 祝贺 谢 见 得 到 听 说 听到 在 忙 干嘛 谢谢你 又 能 跟你 还 天"
).split()
"""Chinese small talk. A run that consists of these phrases is small talk."""

FUNCTION_PHRASES = (
    "什么时候 什么地方 什么 怎么 怎样 为什么 多少 哪里 哪儿 哪 谁 几 吗 呢 吧 了 的 地 得 着 过 是 在 有 和 跟 与 我 "
    "你 您 他 她 它 们 这 那 个 不 没 也 都 就 还 很 把 被 给 对 从 到 会 要 想 请 は が を に へ で と も の か から "
    "まで です ます"
).split()
"""Stop words for Chinese and Japanese."""

ASKING_WHO = frozenset(
    "who whom whose where which wer wem wen wessen wo wohin woher welche welcher welches welchen welchem quién quien "
    "quiénes quienes dónde donde adónde cuál cual cuáles cuales qui où quel quelle quels quelles lequel laquelle кто "
    "кого кому кем где куда откуда какой какая какое какие каком какую чей чья хто кого ким де куди звідки який яка "
    "яке які якому яку чий чия".split()
)
"""Words of questions that usually ask for the name of a person or a place."""
ASKING_WHO_PHRASES = ("谁", "哪", "什么地方")

ASKING = frozenset(
    "what why how was warum wieso weshalb wie wieviel wieviele qué cómo cuánto cuánta cuántos cuántas quoi comment "
    "combien pourquoi что чего чем как почему зачем сколько що чого чому як навіщо скільки".split()
)
"""Other words that questions begin with."""
ASKING_PHRASES = (
    "什么",
    "怎么",
    "怎样",
    "为什么",
    "多少",
    "几个",
    "哪",
    "谁",
    "吗",
    "何时",
    "是不是",
    "有没有",
    "ですか",
    "ますか",
)

BEGINS_QUESTION = frozenset(
    "did does do is are was were has have had can could will would should didn doesn don isn aren wasn weren hasn "
    "haven hat hast habe haben habt ist bist sind war warst waren kann kannst können wird wirst weißt weisst "
    "est qu as avez sais savez sabes разве чи хіба".split()
)
"""Verbs and particles that questions begin with, even without a question mark."""

REFERRING_BACK = frozenset(
    "remember remind recall wonder wondering forgot mentioned "
    "erinnere erinnerst erinner vergessen erwähnt "
    "recuérdame recuerdas recuerda acuerdas olvidé olvidado mencioné mencionó "
    "rappelle rappelles souviens oublié mentionné "
    "напомни помнишь помните вспомни забыл забыла упоминал упоминала "
    "нагадай пам'ятаєш пам'ятаєте згадай забув забула згадував згадувала".split()
)
"""Words anywhere in a sentence that refer to an earlier conversation."""
REFERRING_BACK_PHRASES = (
    *("you said", "you told", "i told you", "i said", "we talked about", "we spoke about", "we discussed"),
    *("du gesagt", "dir gesagt", "dir erzählt", "te dije", "te conté", "me dijiste", "tu as dit", "t'ai dit"),
    *("ты говорил", "ты сказал", "я тебе говорил", "я говорил", "ти казав", "я тобі казав", "я казав"),
    *("记得", "提醒", "我说过", "你说过", "告诉过"),
)

JOINS_SENTENCES = frozenset(
    "and but so or also well und aber also oder y pero o e et mais ou donc и а но или і й та але або".split()
)
"""Conjunctions at the start of a sentence."""

OPENERS = frozenset(
    "anyway anyways oh hey btw um right now then please sorry listen question "
    "übrigens ach na sag mal entschuldige oye bueno perdona ahora dime au fait dis alors bon "
    "кстати слушай скажи так ну а до речі слухай скажи 对了 顺便".split()
)
"""Filler words before a question."""

ASKING_WHEN = frozenset("when wann cuándo cuando quand когда коли".split())
ASKING_WHEN_PHRASES = (
    *("how long", "wie lange", "seit wann", "cuánto tiempo", "combien de temps"),
    *("как долго", "сколько времени", "як довго", "скільки часу", "什么时候", "何时", "几时", "哪天", "多久"),
)
"""Phrases of questions that ask for a time."""

TIMES = frozenset(
    "yesterday today tonight tomorrow ago last next week weeks weekend month months year years since recently night "
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december "
    "gestern heute morgen vorgestern übermorgen letzte letzten letztes letzter nächste nächsten nächster nächstes vor "
    "woche wochen wochenende monat monate monaten jahr jahre jahren seit neulich kürzlich montag dienstag mittwoch "
    "donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober dezember "
    "ayer anoche hoy mañana anteayer hace pasado pasada próximo próxima semana semanas mes meses año años desde lunes "
    "martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre "
    "octubre noviembre diciembre "
    "hier aujourd hui demain avant-hier dernier dernière prochain prochaine semaine semaines mois an ans année depuis "
    "récemment lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril juin juillet août "
    "septembre octobre novembre décembre "
    "вчера сегодня завтра позавчера послезавтра назад прошлый прошлая прошлой прошлом прошлую прошлые следующий "
    "следующей следующем неделю неделе недели недель выходные выходных месяц месяца месяцев месяце год года году лет "
    "недавно понедельник вторник среду четверг пятницу субботу воскресенье января февраля марта апреля мая июня июля "
    "августа сентября октября ноября декабря "
    "вчора сьогодні позавчора післязавтра тому минулий минулого минулої минулому наступний наступного наступної "
    "тиждень тижня тижні тижнів вихідні вихідних місяць місяця місяців рік року роки років нещодавно понеділок "
    "вівторок середу п'ятницю суботу неділю січня лютого березня квітня травня червня липня серпня вересня жовтня "
    "листопада грудня".split()
)
"""Words that say when something happened."""
TIME_PHRASES = tuple("昨天 今天 明天 前天 后天 上周 下周 上个 下个 去年 今年 明年 月 号 星期 周末 年前 最近".split())

ASKER = frozenset(
    "i my mine we our ich mein meine meinen meinem meiner meines wir unser unsere unserem unseren yo mi mis mío mía "
    "nosotros nuestro nuestra je j mon ma mes nous notre nos я мой моя моё мое мои моего моей мы наш наша наше наши "
    "мій моє мої моєї мого ми наше".split()
)
"""First-person words: in a question they refer to the user, in a message to its author."""
ASKED = frozenset(
    "you your yours du dein deine deinen deinem deiner ihr euer eure tú tu tus vos usted vosotros vuestro toi ton ta "
    "tes vous votre ты твой твоя твоё твое твои твоей вы ваш ваша ваше ваши ти твій твоє твої твоєї ви".split()
)
"""Second-person words."""
ASKER_OBJECTS = frozenset(
    "me us myself mich mir uns mí conmigo nos moi m мне меня мной мною нам нас нами мені мене мною".split()
)
ASKED_OBJECTS = frozenset(
    "yourself ya dich dir euch te ti contigo os estás toi t тебя тебе тобой вам вас тебе тобі тобою".split()
)
"""First- and second-person words that are not the subject."""
ASKER_PHRASES, ASKED_PHRASES = ("我",), ("你", "您")
