"""Email and web addresses, written normally or spelled out in words."""

import re

from detection.clues import Clued, Phrases

ENDINGS = (
    "com|net|org|de|at|ch|uk|co|es|fr|it|pt|br|nl|be|pl|tr|jp|eu|io|me|us|ca|au|ie|info|biz|app|dev|"
    "art|photo|photos|photography|studio|studios|film|films|video|pics|gallery|design|agency|media|"
    "shop|store|online|site|website|web|cloud|page|link|bio|xyz|club|live|life|love|wedding|events|"
    "mx|ar|cl|pe|lu|dk|se|no|fi|cz|gr|ru|ua|in|cn|kr|sa|ae|eg|ma|tv|fm|gg|ly|to|cc|ai|so|work|works|"
    "pro|email|berlin|paris|london|cat|gal|tech|digital|space|world|style|ink|house|company|group|"
    "cafe|music|band|tattoo|fashion|marketing|productions|pictures|camera|graphics|ltd|one|today|plus|name|zone|"
    "city|land|farm|family|blog|wiki|vip|fun|rocks|team|cool|guru|social|chat|contact|directory|academy"
)
AT = (
    r"(?:@|\(\s?(?:at|a|@|ät|et|arroba|arobase)\s?\)|\[\s?(?:at|a|@|et|arroba|arobase)\s?\]|"
    r"\{\s?(?:at|a|@)\s?\}|<\s?at\s?>|(?<=\s)(?:at|arroba|arobase|arobas|chiocciola|klammeraffe|at-zeichen|at zeichen|at sign|affenklammer|aapestaart|"
    r"apenstaartje|malpa|snabela|kuyruklu a|et isareti|ät|اتمارك|ات|アットマーク|アット|affenschwanz)"
    r"(?=\s))"
)
DOT_WORD = (
    r"(?:\(\s?(?:dot|\.|punkt|punto|point|ponto|d0t)\s?\)|\[\s?(?:dot|\.|punkt|punto|point|ponto)\s?\]|"
    r"\{\s?(?:dot|\.)\s?\}|(?<=\s)(?:dot|punkt|punto|point|ponto|punt|kropka|nokta|نقطة|ドット|d0t)(?=\s))"
)
NAME = r"[\w+-]{1,64}"
# A literal dot has no space after it, otherwise it would end a sentence.
POINT = rf"(?:\.(?=\S)|\s?{DOT_WORD}\s?)"
MAIL = re.compile(
    rf"(?<![\w+-]){NAME}(?:{POINT}{NAME}){{0,4}}\s{{0,2}}{AT}\s{{0,2}}"
    rf"(?:{NAME}{POINT}){{1,3}}(?:{ENDINGS})(?!\w)"
)
LOOSE = re.compile(
    rf"(?<![\w+-]){NAME}(?:\s?\.\s?{NAME}){{0,4}}[\s\[\](){{}}<>*_-]{{0,3}}@[\s\[\](){{}}<>*_-]{{0,3}}(?:{NAME}\s?[\[(]?\.[\])]?\s?){{1,3}}(?:{ENDINGS})(?!\w)"
)
SIGNED = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
LINK = re.compile(
    rf"(?:https?://|www\.)[^\s<>\"')]{{3,400}}|"
    rf"(?<![\w@.-])[\w-]{{2,63}}(?:\.[\w-]{{2,63}}){{0,2}}\.(?:{ENDINGS})(?![\w.@-]*@)(?:/[^\s<>\"')]{{0,200}}|(?![\w-]))"
)
# An address spelled in words, with the path after its slash.
WORDED = Clued(
    rf"(?<![\w-])[\w-]{{3,63}}\s(?:dot|punkt|punto|point|ponto|punt|kropka|nokta|ドット)\s(?:{ENDINGS})(?!\w)"
    r"(?:\s?(?:/|slash|schragstrich|barra|barre)\s?\w{1,40})?",
    *(" dot ", " punkt ", " punto ", " point ", " ponto ", " punt ", " kropka ", " nokta "),
    " ドット ",
)
HANDLE = Clued(r"(?<![\w@.])@[a-z_][\w.-]{2,40}|(?<![\w#])[a-z][\w.]{2,30}#\d{4}(?!\d)", "@", "#")
CASHTAG = Clued(r"(?<![\w$])\$[a-z][\w-]{2,30}", "$")
IBAN = re.compile(r"(?<![a-z0-9])[a-z]{2}\d{2}(?:[ .-]?[a-z0-9]{2,4}){3,8}(?![a-z0-9])")
WALLET = re.compile(
    r"(?<!\w)(?:0x[0-9a-f]{40}|bc1[0-9a-z]{20,60}|t[1-9a-z]{33}|[13][1-9a-z]{25,34})(?!\w)"
)
UUID = re.compile(r"(?<!\w)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?!\w)")
UNDERSCORED = re.compile(r"(?<![\w/@.#-])[a-z][a-z0-9]*(?:[._][a-z0-9]+)+(?![\w/@-])")


# Spelled, drawn or bracketed symbols, each with the symbol it stands for.
_OPEN, _CLOSE = r"\s{0,2}[\[({<|]\s?", r"\s?[\])}>|]\s{0,2}"
SAID_SIGNS = (
    (
        re.compile(
            rf"{_OPEN}(?:at|a|@|4|ät|et|arr|arroba|arrobe|arobase|arobas|chez|klammeraffe|chiocciola|"
            rf"malpa|malpka|curly a|affe|aapje|あっと|アット){_CLOSE}|"
            r"\s?[,.]?\s(?:arroba|arrobe|arobase|chiocciola|klammeraffe|malpa|malpka|apenstaartje|at-sign|at sign|"
            r"chiocciolina|curly a|あっと|アット|آت)[,.]?\s|\s?[🐒🙈🌀🐌]\s?"
        ),
        "@",
    ),
    (
        re.compile(
            rf"{_OPEN}(?:dot|d0t|punkt|pkt|punto|pto|point|pt|ponto|punt|kropka|nokta|punktum|\.){_CLOSE}|"
            r"\s?[,.]?\s(?:dot|d0t|full stop|punkt|punto|point|ponto|punt|kropka|nokta|どっと|ドット|نقطة|دوت)[,.]?\s|"
            r"\s?[⚫🔴🔵🔘⏺●]\s?"
        ),
        ".",
    ),
    (
        re.compile(
            rf"{_OPEN}(?:slash|barra|barre|schragstrich){_CLOSE}|"
            r"\s(?:slash|sl4sh|schragstrich|barra|barre|ukosnik)\s|➗"
        ),
        "/",
    ),
    (re.compile(r"\s?(?:➖|\s(?:bindestrich|hyphen|trattino|tiret|guion|hifen)\s)\s?"), "-"),
)
# A cheap test: a text without any of these contains none of the above.
PARTS_OF_SIGNS = (
    *(
        "[",
        "(",
        "{",
        "<",
        "|",
        "🐒",
        "🙈",
        "🌀",
        "🐌",
        "⚫",
        "🔴",
        "🔵",
        "🔘",
        "⏺",
        "●",
        "➗",
        "➖",
    ),
    *("arrob", "arobas", "chiocciol", "klammeraffe", "malp", "apenstaart", "at-sign", "at sign"),
    *("curly a", "あっと", "アット", "آت", "dot", "d0t", "full stop", "punkt", "punt", "point"),
    *("ponto", "kropka", "nokta", "どっと", "ドット", "نقطة", "دوت", "slash", "sl4sh", "barr"),
    *("schragstrich", "ukosnik", "bindestrich", "hyphen", "trattino", "tiret", "guion", "hifen"),
)
SIGNS_SAID = Phrases(PARTS_OF_SIGNS)
# A space after a dot ends a sentence; one before it does not.
SPACED_SIGN = re.compile(r"(?<=\w)(?:\s([.@/-])\s?|([@/])\s)(?=\w)")
# Maximum length of an address: of a longer text only the part around the symbol is read.
LONGEST_SAID = 400

AT_ANY = re.compile(AT)
DOT_BEFORE = re.compile(r"\.\S")
DOT_SAID = Clued(
    DOT_WORD,
    *("(", "[", "{", " dot ", " punkt ", " punto ", " point ", " ponto ", " punt ", " kropka "),
    *(" nokta ", " نقطة ", " ドット ", " d0t "),
)
DOTTED = re.compile(r"\w\.\w|://")


def find_mail(text: str) -> str:
    if "@" in text:
        found = SIGNED.search(text) or LOOSE.search(text)
        if found:
            return found[0]
    found = MAIL.search(text) if has_point(text) and AT_ANY.search(text) else None
    return found[0] if found else ""


def has_point(text: str) -> bool:
    """Whether there is a dot inside a word, or a word for it, which every address has."""
    return bool(DOT_BEFORE.search(text) or DOT_SAID.search(text))


def find_links(text: str) -> list[str]:
    if not (DOT_BEFORE.search(text) or "://" in text) or not DOTTED.search(text):
        return []
    return [found[0] for found in LINK.finditer(text)]


def find_worded(text: str) -> list[str]:
    if not WORDED.search(text):
        return []
    return [found[0] for found in WORDED.compiled.finditer(text)]


def has_signs(text: str) -> bool:
    """Whether the text contains anything that may stand for a symbol."""
    return bool(SIGNS_SAID.found_in(text))


def with_signs(text: str) -> str:
    """The text with spelled symbols replaced; unchanged if it has none."""
    read = text[:LONGEST_SAID]
    if not has_signs(read):
        return text
    for pattern, sign in SAID_SIGNS:
        read = pattern.sub(sign, read)
    return text if read == text[:LONGEST_SAID] else SPACED_SIGN.sub(r"\1\2", read)


def find_reversed(text: str) -> str:
    """An address written backwards."""
    if "@" in text:
        return find_mail(text[::-1])
    if not any(ending in text for ending in ENDINGS_BACKWARDS):
        return ""
    found = BACKWARDS.search(text[::-1])
    return found[0] if found else ""


ENDINGS_BACKWARDS = ("moc.", "ten.", "gro.", "elpmaxe.")
BACKWARDS = re.compile(r"(?<!\w)[\w-]{5,40}\.(?:com|net|org|example)(?!\w)")
