"""Finds digits in any notation, and those that form a telephone number."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from detection.normalise import redigit, unleet

_ONES = {
    "0": "zero oh null nul cero zero zéro zeri nula sifir صفر ゼロ 〇 零 nought naught",
    "1": "one eins ein uno un une um uma een jeden bir واحد 一 いち",
    "2": "two zwei zwo dos deux dois duas due twee dwa iki اثنان اثنين 二",
    "3": "three drei tres trois tre drie trzy uc ثلاثة ثلاث 三",
    "4": "four vier cuatro quatre quatro quattro cztery dort اربعة اربع 四",
    "5": "five funf fuenf cinco cinq cinque vijf piec bes خمسة خمس 五",
    "6": "six sechs seis sei zes szesc alti ستة ست 六",
    "7": "seven sieben siete sept sete sette zeven siedem yedi سبعة سبع 七",
    "8": "eight acht ocho huit oito otto osiem sekiz ثمانية ثمان 八",
    "9": "nine neun nueve neuf nove negen dziewiec dokuz تسعة تسع 九",
}
_TENS = {
    "10": "ten zehn diez dix dez dieci tien on dziesiec",
    "11": "eleven elf once onze undici",
    "12": "twelve zwolf doce douze doze dodici twaalf",
    "13": "thirteen dreizehn trece treize treze tredici dertien",
    "14": "fourteen vierzehn catorce quatorze quattordici veertien",
    "15": "fifteen funfzehn quince quinze quindici vijftien",
    "16": "sixteen sechzehn dieciseis seize dezesseis dezasseis sedici zestien",
    "17": "seventeen siebzehn diecisiete dezessete dezassete diciassette zeventien",
    "18": "eighteen achtzehn dieciocho dezoito diciotto achttien",
    "19": "nineteen neunzehn diecinueve dezenove dezanove diciannove negentien",
    "20": "twenty zwanzig veinte vingt vinte venti twintig dwadziescia yirmi",
    "30": "thirty dreissig treinta trente trinta trenta dertig trzydziesci otuz",
    "40": "forty fourty vierzig cuarenta quarante quarenta quaranta veertig czterdziesci kirk",
    "50": "fifty funfzig cincuenta cinquante cinquenta cinquanta vijftig piecdziesiat elli",
    "60": "sixty sechzig sesenta soixante sessenta sessanta zestig szescdziesiat altmis",
    "70": "seventy siebzig setenta septante settanta zeventig siedemdziesiat yetmis",
    "80": "eighty achtzig ochenta huitante octante oitenta ottanta tachtig osiemdziesiat seksen",
    "90": "ninety neunzig noventa nonante novanta negentig dziewiecdziesiat doksan",
}
# Brazilian "meia" for six, and tens and ones in one word.
_ONES["6"] += " meia"
_DE = {
    "ein": 1,
    "zwei": 2,
    "drei": 3,
    "vier": 4,
    "funf": 5,
    "sechs": 6,
    "sieben": 7,
    "acht": 8,
    "neun": 9,
}
_DE_TENS = {
    "zwanzig": 20,
    "dreissig": 30,
    "vierzig": 40,
    "funfzig": 50,
    "sechzig": 60,
    "siebzig": 70,
    "achtzig": 80,
    "neunzig": 90,
}
_NL = {
    "een": 1,
    "twee": 2,
    "drie": 3,
    "vier": 4,
    "vijf": 5,
    "zes": 6,
    "zeven": 7,
    "acht": 8,
    "negen": 9,
}
_NL_TENS = {
    "twintig": 20,
    "dertig": 30,
    "veertig": 40,
    "vijftig": 50,
    "zestig": 60,
    "zeventig": 70,
    "tachtig": 80,
    "negentig": 90,
}
_IT = {
    "uno": 1,
    "due": 2,
    "tre": 3,
    "quattro": 4,
    "cinque": 5,
    "sei": 6,
    "sette": 7,
    "otto": 8,
    "nove": 9,
}
_IT_TENS = {
    "venti": 20,
    "trenta": 30,
    "quaranta": 40,
    "cinquanta": 50,
    "sessanta": 60,
    "settanta": 70,
    "ottanta": 80,
    "novanta": 90,
}
_ES = {
    "uno": 1,
    "dos": 2,
    "tres": 3,
    "cuatro": 4,
    "cinco": 5,
    "seis": 6,
    "siete": 7,
    "ocho": 8,
    "nueve": 9,
}
COMPOUNDS = {
    **{f"{one}und{ten}": str(a + b) for one, a in _DE.items() for ten, b in _DE_TENS.items()},
    **{f"{one}en{ten}": str(a + b) for one, a in _NL.items() for ten, b in _NL_TENS.items()},
    **{
        f"{ten[:-1] if one[0] in 'uo' else ten}{one}": str(a + b)
        for one, a in _IT.items()
        for ten, b in _IT_TENS.items()
    },
    **{f"veinti{one}": str(20 + a) for one, a in _ES.items()},
}
WORDS = COMPOUNDS | {
    word: digits
    for table in (_ONES, _TENS)
    for digits, line in table.items()
    for word in line.split()
}
# nulleinssieben: several digits in one word.
_PARTS = "|".join(sorted((w for w in WORDS if w.isascii() and len(w) > 2), key=len, reverse=True))
RUN_ON = re.compile(f"(?:{_PARTS})+")
PART = re.compile(_PARTS)
KANJI = re.compile("[〇零一二三四五六七八九]")
HUNDRED = {"hundred", "hundert", "cien", "ciento", "cent", "cento", "honderd", "sto", "yuz"}
TIMES = {
    "double": 2,
    "doppel": 2,
    "doppelt": 2,
    "doble": 2,
    "dupla": 2,
    "doppio": 2,
    "dubbel": 2,
    "triple": 3,
    "treble": 3,
    "dreimal": 3,
    "triplo": 3,
    "zweimal": 2,
}
# Words between the parts of a spoken number.
LINKS = {
    "then",
    "and",
    "und",
    "dann",
    "y",
    "luego",
    "despues",
    "et",
    "puis",
    "e",
    "depois",
    "poi",
    "en",
    "dan",
    "i",
    "potem",
    "ve",
    "sonra",
    "ثم",
    "و",
    "dash",
    "space",
    "minus",
    "plus",
    "strich",
    "guion",
    "tiret",
    "traco",
    "の",
    "で",
    "next",
    "is",
    "area",
    "code",
}
# One letter each for words for digits, words allowed between them, and all others.
DIGITS_SAID, BETWEEN, OTHER = "d", "b", "o"
MARKS = {
    **dict.fromkeys((*LINKS, *TIMES), BETWEEN),
    **dict.fromkeys((*WORDS, *HUNDRED), DIGITS_SAID),
}
ADJACENT_DIGITS = re.compile(f"{DIGITS_SAID}{BETWEEN}*{DIGITS_SAID}")
TOKEN = re.compile(r"\d+|[^\W\d_]+(?:['’][^\W\d_]+)?|[^\W_]|[^\w\s]|_|\s+")
WORD = re.compile(r"[^\W\d_]+")
MIXED = re.compile(r"(?<!\w)(?=[a-z0-9]*[a-z])(?=[a-z0-9]*\d)[a-z0-9]{3,12}(?!\w)")
LEETED = re.compile(r"(?<!\w)(?=[oilsbz]*+[0-9])[0-9oilsbz]++(?!\w)")
# O6 E9 9B 1Z 77: groups with letters that look like digits.
_GROUP = r"[0-9oilsbzeg]{1,5}"
ALMOST = re.compile(rf"(?<!\w){_GROUP}(?:[ .)-]{{1,3}}{_GROUP}){{2,5}}(?!\w)")


@dataclass(frozen=True)
class Run:
    """A run of digits."""

    digits: str
    start: int
    end: int
    raw: str
    # At least partly spelled in words, or every digit separate.
    spelled: bool = False
    apart: bool = False


# Separators within a number: almost anything but letters and separators of lists.
RAW_RUN = re.compile(r"\+?\(?\d(?:[^\w\n,;:%$£\x00]{0,3}_?\d){5,40}")
ONE_BY_ONE = re.compile(r"(?<!\d)\d(?:[\s,;:xo*_-]{1,3}\d(?!\d)){6,20}")
DATES = re.compile(
    r"(?<!\d)(?:(?:19|20)\d\d[-./]\d{1,2}[-./]\d{1,2}|"
    r"(?:[0-2]?\d|3[01])[-./](?:[0-2]?\d|3[01])[-./](?:(?:19|20)\d\d|\d\d(?![-.]\d\d)))(?!\d)"
)
PRICES = re.compile(
    r"(?<![\d])\d{1,3}(?:[.,' ]\d{3})*[.,]\d\d(?!\d)|(?<!\d)\d++ ?(?:eur|usd|gbp|chf|zl|tl|kr)\b|[$£]\s?\d[\d.,]*+"
)
SIZES = re.compile(
    r"(?<!\d)\d++(?:[.,]\d++)?\s?[x×]\s?\d++|(?<![\d])\d{1,2}[:h]\d\d(?::\d\d)*(?:\.\d+)?|(?<!\d)(?:1920|1080|3840|2160|1280|2048|4096|2560|1440)(?!\d)|(?<!\d)\d++\s?(?:mm|cm|px|dpi|fps|kb|mb|gb|iso|kg|km|min|gsm|k)\b"
)
IDS = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<!\w)(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{20,64}(?!\w)"
)
# 250 / 500 / 1000
LISTED = re.compile(r"(?<!\d)\d{2,}(?:\s/\s\d{2,})+(?!\d)|(?<![\d.])\d{1,3}\.\d{5,}(?![\d.])")
DIGIT = re.compile(r"\d")


# Longer than any telephone number.
MAX_RUN = 64


# Cached: each text is also an earlier text of the next ones.
@lru_cache(maxsize=2048)
def without_measures(text: str) -> str:
    """Blanks out dates, prices, times and sizes; the positions of the rest are unchanged."""
    for pattern in (IDS, DATES, PRICES, SIZES, LISTED):
        text = pattern.sub(lambda found: "\x00" * len(found[0]), text)
    return text


def find_raw(text: str) -> list[Run]:
    """Numbers in digits, without dates, prices and sizes."""
    if len(DIGIT.findall(text)) < 7:
        return []
    text = without_measures(text)
    found = [
        Run(re.sub(r"\D", "", match[0]), match.start(), match.end(), match[0], apart=True)
        for match in ONE_BY_ONE.finditer(text)
    ]
    for match in RAW_RUN.finditer(text):
        raw = match[0]
        digits = re.sub(r"\D", "", raw)
        groups = re.findall(r"\d+", raw)
        apart = len(groups) >= 6 and sum(len(group) == 1 for group in groups) >= 0.7 * len(groups)
        found.append(Run(digits, match.start(), match.end(), raw, apart=apart))
    return found


def may_be_spelled(pieces: Iterable[str]) -> bool:
    """Whether two words for digits are adjacent in the joined pieces."""
    return ADJACENT_DIGITS.search("".join(map(_marks_of, pieces))) is not None


# Cached: each text is also an earlier text of the next ones.
@lru_cache(maxsize=2048)
def _marks_of(text: str) -> str:
    return "".join([MARKS.get(word, OTHER) for word in WORD.findall(_worded(text))])


def _worded(text: str) -> str:
    """Separates words for digits."""
    if DIGIT.search(text):
        text = MIXED.sub(_plainly, text)
    text = LONG_WORD.sub(lambda found: _apart(found[0]), text)
    return text if text.isascii() else KANJI.sub(lambda found: f" {found[0]} ", text)


# Cached: rules and model read the same text.
@lru_cache(maxsize=16)
def find_spelled(text: str) -> tuple[Run, ...]:
    """Spelled numbers, with at least three words for digits."""
    if not may_be_spelled([text]):
        return ()
    text = _worded(text)
    found: list[Run] = []
    digits, spelled, start, end, times = "", 0, 0, 0, 1
    for token in TOKEN.finditer(text):
        word = token[0]
        value = word if word.isdecimal() else WORDS.get(word)
        if word in HUNDRED and digits:
            digits += "00"
            spelled, end = spelled + 1, token.end()
        elif word in TIMES:
            times = TIMES[word]
        elif value is not None and not (value == word and len(word) > 8):
            if not digits:
                start = token.start()
            if len(digits) < MAX_RUN:
                between = text[end : token.start()]
                digits = _joined(digits, value, between) if digits else value * times
            if times > 1 and digits != value * times and len(digits) < MAX_RUN:
                digits += value * (times - 1)
            spelled, end, times = spelled + (value != word), token.end(), 1
        elif word.isspace() or word in LINKS or (not word.isalnum() and word not in "!?;:\n"):
            continue
        else:
            _keep(found, text, digits, spelled, start, end)
            digits, spelled, times = "", 0, 1
    _keep(found, text, digits, spelled, start, end)
    return tuple(found)


def find_almost(text: str) -> bool:
    """Whether there is a number in which letters stand for some of the digits."""
    if not DIGIT.search(text):
        return False
    for found in ALMOST.finditer(text):
        groups = re.findall(_GROUP, found[0])
        mixed = [one for one in groups if not one.isdecimal() and DIGIT.search(one)]
        digits = sum(len(DIGIT.findall(one)) for one in groups)
        if len(mixed) >= 2 and digits >= 4 and 8 <= sum(map(len, groups)) <= 13:
            return True
    return False


LONG_WORD = re.compile(r"(?<![^\W_])[a-z]{8,120}(?![^\W_])")


@lru_cache(maxsize=4096)
def _apart(word: str) -> str:
    if word in WORDS or not RUN_ON.fullmatch(word):
        return word
    return " ".join(PART.findall(word))


def _joined(digits: str, value: str, between: str) -> str:
    """Combines number words: sixty-four and six four are 64, quatre-vingt-dix-huit is 98."""
    linked = between.strip() in ("-", "y", "e", "und", "et", "")
    tens = digits[-2:] if len(digits) > 1 and digits[-1] == "0" and digits[-2] != "0" else ""
    if linked and digits[-1:] == "4" and value == "20" and between.strip() == "-":
        return digits[:-1] + "80"
    if (
        linked
        and tens
        and between.strip() in ("-", "y", "e")
        and len(value) <= 2
        and int(value) < 20
    ):
        return digits[:-2] + str(int(tens) + int(value))
    return digits + value


def _plainly(word: re.Match[str]) -> str:
    """Reads s3ven as a word and O1l2 as digits."""
    read = unleet(word[0])
    if read in WORDS or read in HUNDRED:
        return read
    return redigit(word[0]) if LEETED.fullmatch(word[0]) else word[0]


def _keep(found: list[Run], text: str, digits: str, spelled: int, start: int, end: int) -> None:
    if spelled >= 3 and len(digits) >= 6 or spelled >= 2 and digits[0] == "0" and len(digits) >= 9:
        found.append(Run(digits, start, end, text[start:end], spelled=True))
