"""How people call a secret that they are about to name, in many languages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """Names of secrets, and what may stand between one and the secret beside ANY_LINK; both are regular expressions.

    Each of the names begins with a letter, in the small form. cues: words one of which stands in each of the names,
    which makes looking for them fast. direct: the secret may follow without anything between. whole: no letter stands
    before a name, as in `hash` it would for `has`.
    """

    names: str
    cues: str
    links: str = ""
    direct: bool = False
    whole: bool = False


ANY_LINK = (
    "is|was|ist|lautet|est|c['’]est|es|era|è|é|és|este|luidt|är|jest|brzmi|είναι|это|це|là|adalah|ialah|yaitu|คือ|"
    "هي|هو|است|היא|הוא|yra"
)
"""Words for `is` that no other language uses for something else, since names are borrowed from English everywhere."""

LANGUAGES = (
    Language(
        "pass(?:word|phrase|code|wd)|pwd|api[ _-]?key|secret[ _-]?(?:access[ _-]?)?key|"
        "(?:private|signing|encryption|account|shared[ _-]?access)[ _-]?key|"
        "(?:client|app|consumer|shared|jwt|webhook)[ _-]?secret|(?:access|auth|secret|bot|refresh|session)[ _-]?token|"
        "aws[ _-]secret(?:[ _-]access)?(?:[ _-]key)?",
        "pass pwd key secret token",
    ),
    Language("pw\\b|(?:secret|token|pass)(?=[\"']\\s*[:=]|\\s*=)", "pw secret token pass", whole=True),
    Language("passwort|kennwort|geheimer schlüssel|zugangscode", "passwort kennwort schlüssel zugangscode"),
    Language("contraseña|clave (?:secreta|de acceso|api|del wifi)|contrasenya|clau secreta", "contrase clave clau"),
    Language("mot de passe|mdp\\b|code secret|clé (?:secrète|api|d['’]accès)", "passe mdp secret clé", whole=True),
    Language(
        "parola d['’]ordine|parola chiave|chiave (?:segreta|api|d['’]accesso)|codice segreto", "parola chiave codice"
    ),
    Language(
        "senhas?\\b|palavra[- ]passe|chave (?:secreta|api|de acesso)|código secreto", "senha palavra chave código"
    ),
    Language("parolă|parola (?:mea|contului|wifi)|cheia secretă", "parol cheia", "e"),
    Language("wachtwoord|toegangscode|geheime sleutel", "wachtwoord toegangscode sleutel"),
    Language("lösenord(?:et)?|hemlig nyckel", "lösenord nyckel"),
    Language("passord(?:et)?|adgangskoden?|kodeord(?:et)?|løsenord", "passord adgangskode kodeord løsenord", "er"),
    Language("salasana(?:ni|mme)?|tunnussana", "salasana tunnussana", "on"),
    Language("has[łl](?:o|a|em)\\b|tajny klucz|klucz (?:api|dostępu)", "has klucz", "to", whole=True),
    Language(
        "hesl(?:o|a|em)\\b|tajný k[lľ][íú]č|lozink[aeu]\\b|zapork[ae]\\b|šifr[aeu]\\b",
        "hesl tajn lozink zapork šifr",
        "je|zní|znie",
        whole=True,
    ),
    Language("jelsz(?:ó|av)\\w{0,4}", "jelsz", "az?", direct=True),
    Language("şifre\\w{0,6}|parola(?:m|mız|sı|nız)\\b|gizli anahtar", "şifre parola gizli", direct=True),
    Language("slaptažodis|salasõna|parool", "slaptažodis salasõna parool", "ir|on"),
    Language(
        "парол(?:ь|я|ем|і|ю)|секретный ключ|ключ api|секретний ключ|кодовое слово",
        "парол ключ кодовое",
        "є|такой|такий|будет",
        direct=True,
    ),
    Language("парола(?:та)?\\b|лозинка|шифрата", "парола лозинка шифрата", "е|је"),
    Language("κωδικ(?:ός|ο)\\w{0,2}(?: πρόσβασης)?|συνθηματικό", "κωδικ συνθηματικό"),
    Language("סיסמ[האת]\\w{0,3}", "סיסמ", direct=True),
    Language("كلمة (?:المرور|السر)|الرقم السري|رمز عبور|گذرواژه|پسورد", "كلمة الرقم رمز گذرواژه پسورد", direct=True),
    Language("पासवर्ड", "पासवर्ड", "है", direct=True),
    Language("mật khẩu|kata (?:sandi|laluan|kunci)|รหัสผ่าน", "khẩu kata รหัสผ่าน", direct=True),
    Language("密码|密碼|口令|密钥|密鑰", "密 口令", "是|为|為", direct=True),
    Language(
        "パスワード|暗証番号|合言葉|秘密鍵|シークレットキー|パスコード",
        "パス 暗証 合言葉 秘密鍵 シークレット",
        "は|が",
        direct=True,
    ),
    Language("비밀번호|패스워드|암호", "비밀번호 패스워드 암호", "는|은|가|이", direct=True),
)

SEED_NAMES = (
    "(?:seed|recovery|mnemonic|backup)(?:[ -](?:phrase|words|key))?|(?:сид|сід)[ -]?фраза|фраза восстановления|"
    "фраза відновлення|wiederherstellungsphrase|frase (?:semilla|de recupera(?:ción|ção)|semente|di recupero|seed)|"
    "phrase de récupération|助记词|fraza odzyskiwania|(?:リカバリー|シード)フレーズ"
)
SEED_CUES = ("seed", "recovery", "mnemonic", "backup", "фраз", "phrase", "frase", "助记词", "fraza", "フレーズ")
"""One of them stands in each of SEED_NAMES, in small letters."""
NEVER_IN_SEEDS = frozenset(
    "the and for are was has had not but his her she him out our your from have been were into than them their would "
    "could should der die das und ist nicht ein eine mit los las una que con por les des est pas une dans pour это что "
    "как или для при".split()
)
"""Words that sentences have and the lists of words for seed phrases don't."""
