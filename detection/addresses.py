"""Email and web addresses, bank accounts and wallets, written normally or spelled out in words."""

import re
from functools import cache
from typing import Any

from django.conf import settings

from detection.lexicon import lexicon
from detection.normalise import close_up, unleet
from detection.reading import Reading, read

# With blanks or brackets on one side of the sign only, it is a mention: "thanks to @mara.film".
_APART = r"[\s\[\](){}<>*_-]{1,3}"
MAIL = re.compile(
    r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}|"
    rf"[\w+-]{{1,64}}(?:{_APART}@{_APART}|@\s?)[\w-]{{1,63}}(?:\s?[\[(]?\.[\])]?\s?[\w-]{{2,63}}){{1,3}}"
)
SAID_AT = re.compile(r"(?<=\w)\s(?:at|a)\s(?=[\w-]{1,63}\.[a-z]{2,24}(?!\w|\.\w))")
LINK = re.compile(
    r"(?:https?://|www\.)[^\s<>\"')]{3,400}|"
    r"(?<![\w@.-])[\w-]{2,63}(?:\.[\w-]{2,63}){1,4}(?![\w-]|[\w.]*@)(?:/[^\s<>\"')]{0,200})?"
)
IBAN = re.compile(r"(?<![a-z0-9])[a-z]{2}\d{2}(?:[ .-]?[a-z0-9]{2,4}){3,8}(?![a-z0-9])")
WALLET = re.compile(
    r"(?<!\w)(?:0x[0-9a-f]{40}|bc1[0-9a-z]{20,60}|t[1-9a-z]{33}|[13][1-9a-z]{25,34})(?!\w)"
)
BACKWARDS = re.compile(r"(?<!\w)[\w-]{5,40}\.(?:com|net|org|example)(?!\w)")
LEETED = re.compile(r"(?<![a-z\d])(?:[a-z]+\d|\d+[a-z])[a-z\d]*")
# A space after a dot ends a sentence; one before it does not.
SPACED_SIGN = re.compile(r"(?<=\w)(?:\s([.@/-])\s?|([@/])\s)(?=\w)")
NOT_HOST = re.compile(r"[^\w.-]")
BLANKS = re.compile(" {2,}")
PATH_PARTS = re.compile(r"[/?&=]")
# Suffixes that are more often the ending of a file.
FILES = frozenset({"zip", "mov", "md", "ps", "sh", "rs", "py"})
# Suffixes that are more often a word after a word for a dot.
WORDS = frozenset(
    {"is", "it", "in", "so", "no", "at", "as", "to", "on", "do", "my", "be", "la", "over"}
)
DRAWN = {"@": "🐒🙈🌀🐌", ".": "⚫🔴🔵🔘⏺●", "/": "➗", "-": "➖"}
BRACKETED = {"@": "at|a|@|4|et", ".": r"\.|pt", "/": "/", "-": "-"}
SAID = ("say_at", "say_dot", "say_slash", "say_dash")
MAX_LINKS, MIN_ACCOUNT_DIGITS = 8, 12


@cache
def _sign_patterns() -> list[tuple[re.Pattern[str], str]]:
    """Spelled, drawn or bracketed symbols, each with the symbol it stands for."""
    patterns = []
    for sign, words in lexicon().signs.items():
        said = "|".join(map(re.escape, words))
        bracketed = rf"\s{{0,2}}[\[({{<|]\s?(?:{said}|{BRACKETED[sign]})\s?[\])}}>|]\s{{0,2}}"
        apart = r"[\s*_/|~]{1,3}"
        pattern = rf"{bracketed}|[,.]?{apart}(?:{said})[,.]?{apart}|\s?[{DRAWN[sign]}]\s?"
        patterns.append((re.compile(pattern), sign))
    return patterns


def variants(reading: Reading) -> dict[str, None]:
    """The text, and with the disguises of an address removed."""
    text, gates = reading.folded, reading.gates
    closed = close_up(text, keep_dots=True) if "spaced" in gates else text
    if "mixed" in gates:
        closed = LEETED.sub(lambda found: unleet(found[0]), closed)
    signed = closed = BLANKS.sub(" ", closed)
    if "bracket" in gates or reading.has(*SAID):
        for pattern, sign in _sign_patterns():
            signed = pattern.sub(sign, signed)
    if signed != closed or "parted" in gates:
        signed = SPACED_SIGN.sub(r"\1\2", signed)
    return dict.fromkeys((text, closed, text.replace("_", " "), SAID_AT.sub("@", signed)))


@cache
def _suffixes() -> Any:
    # Imported late: commands do not need it, and a server loads it when it starts.
    import tldextract

    # The list in the package, without requests.
    return tldextract.TLDExtract(cache_dir=None, suffix_list_urls=())


def has_suffix(host: str) -> bool:
    """Whether the host ends in a public suffix."""
    ending = host.rpartition(".")[2]
    return ending == "example" or (ending not in FILES and bool(_suffixes()(host).suffix))


def has_mail(text: str) -> bool:
    is_possible = "@" in text and "." in text
    found = [one[0].rpartition("@")[2] for one in MAIL.finditer(text)] if is_possible else []
    return any(has_suffix(NOT_HOST.sub("", host)) for host in found[:MAX_LINKS])


def find_links(text: str) -> list[str]:
    links = [found[0] for found in LINK.finditer(text)][:MAX_LINKS]
    starts = ("http", "www.")
    return [one for one in links if one.startswith(starts) or has_suffix(one.partition("/")[0])]


def has_hidden_link(text: str, shown: list[str]) -> bool:
    """Whether a text has a link that was not visible before its disguises were removed."""
    hosts = {link.partition("/")[0] for link in find_links(text)}
    return any(
        host.rpartition(".")[2] not in WORDS and not any(host in link for link in shown)
        for host in hosts
        if not host.startswith("http")
    )


def find_reversed(text: str) -> str:
    """The reason to flag an address that is written backwards."""
    backwards = text[::-1] if "." in text else ""
    return "email" if MAIL.search(backwards) else "link" if BACKWARDS.search(backwards) else ""


def score_link(link: str, text: str) -> float:
    """How likely a link leads to a booking or a contact elsewhere."""
    host, _, path = link.removeprefix("https://").removeprefix("http://").partition("/")
    if any(host == known or host.endswith(f".{known}") for known in settings.POLICY_HOSTS):
        return 0.0
    if any(f".{host}/{path}".find(f".{known}") >= 0 for known in lexicon().hosts):
        return 1.2
    around = read(text.replace(link, " "))
    # "Contact sheet" is a term of photography.
    has_path = any(one.startswith(lexicon().paths) for one in PATH_PARTS.split(path))
    score = 0.4 + 0.4 * (has_path and "sheet" not in text)
    return score + 0.6 * around.has("link_verb") + 0.3 * around.has("contact")


def has_account(text: str) -> bool:
    """Whether there is a bank account or a wallet."""
    iban = IBAN.search(text)
    digits = sum(map(str.isdecimal, iban[0] if iban else text))
    has_iban = digits >= MIN_ACCOUNT_DIGITS and (iban is not None or "iban" in text)
    return has_iban or WALLET.search(text) is not None
