"""Numbers that somebody could dial, or pay to."""

import re

from moderation.detection.addresses import IBAN, UUID, WALLET
from moderation.detection.folding import redigit
from moderation.detection.lexicon import turns
from moderation.detection.numbers import Run, find_raw
from moderation.detection.spelling import find_spelled
from moderation.detection.verdict import Verdict
from moderation.detection.words import Sentence, any_of, sentences

# Of more there is no need to look at each.
MOST_RUNS = 12
RINGS = re.compile("[☎📞📱🤙📲]")
# As people write telephone numbers, and little else.
SHAPED = re.compile(
    r"\(?[2-9]\d\d\)?[ .-]\d{3}[ .-]\d{4}$|[679]\d\d[ .-]\d{3}[ .-]\d{3}$|0\d(?:[ .-]\d\d){4}$"
)
# Digits that are made to look like something else, or are held apart by what does not show.
DISGUISED = re.compile("[0-9]\ufe0f?\u20e3|[①-⑳⓪❶-❿➀-➓🄋]|\\d[\u200b-\u200f\u2060\u00ad\ufeff]+\\d")
ALMOST_DIGITS = re.compile(r"(?<!\w)[0-9oil]*[0-9][0-9oil]*(?!\w)")


def judge_numbers(
    verdict: Verdict, plain: str, closed: str, spoken: list[Sentence], disguised: bool
) -> None:
    plain = ALMOST_DIGITS.sub(lambda found: redigit(found[0]), plain)
    runs = find_raw(plain)[:MOST_RUNS]
    marked = any_of(spoken, "reversed"), bool(RINGS.search(plain)) or disguised
    for run in runs:
        verdict.add("phone", _dialled(run, plain, *marked))
    for run in find_spelled(plain):
        if 7 <= len(run.digits) <= 16:
            verdict.add("phone", 0.4 if _is_record(plain, run) else 1.2)
    pays = any_of(spoken, "pay") or any_of(spoken, "payservice")
    dense = closed.replace(" ", "").replace(".", "").replace("-", "")
    iban = IBAN.search(closed)
    if iban and _has_long_number(iban[0]) or "iban" in dense and _has_long_number(dense):
        verdict.add("payment", 1.2)
    if WALLET.search(plain) or (UUID.search(plain) and "pix" in plain):
        verdict.add("payment", 1.2)
    if "sort code" in plain or "account number" in plain or "kontonummer" in plain:
        verdict.add("payment", 0.5 + 0.6 * any(char.isdecimal() for char in plain))
    for run in runs:
        if 15 <= len(run.digits) <= 24 and (pays or "card" in plain) and not _is_record(plain, run):
            verdict.add("payment", 1.1)


def _has_long_number(text: str) -> bool:
    return sum(character.isdecimal() for character in text) >= 12


def _dialled(run: Run, text: str, backwards: bool, rings: bool) -> float:
    count = len(run.digits.removeprefix("00"))
    if count < 7 or count > 15:
        return 0.0
    score = {7: 0.4, 8: 0.6, 9: 0.85, 14: 0.6, 15: 0.5}.get(count, 1.0)
    raw = run.raw
    if SHAPED.match(raw):
        score += 0.2
    if raw.startswith(("+", "(")) or run.digits.startswith("00"):
        score += 0.35
    elif raw.startswith("0"):
        score += 0.25
    if run.apart:
        score += 0.4
    if rings:
        score += 0.7
    around = text[max(0, run.start - 60) : run.end + 60]
    near = sentences(around)
    if any_of(near, "contact") or any_of(near, "number"):
        score += 0.5 + 0.15 * any_of(near, "number")
    if any_of(near, "messenger") or any_of(near, "payservice") or backwards:
        score += 0.4
    before = text[max(0, run.start - 6) : run.start]
    if before[-1:] == "_" or before[-1:].isalnum() or before.endswith("#"):
        # In a file's name: a camera's counting, unless somebody says to call it.
        score -= 0.2 if any_of(sentences(text.replace("_", " ")), "contact") else 0.8
    if _is_record(text, run):
        score -= 0.9
    return score


BEFORE_RECORDS = frozenset(turns("before_records"))
NUMBERED = {
    "no",
    "nr",
    "n",
    "num",
    "number",
    "numero",
    "nummer",
    "numer",
    "numarasi",
    "номер",
    "رقم",
}
YEAR = re.compile(r"(?:19|20)\d\d(?!\d)|20[12]\d[01]\d[0-3]\d")


def _is_record(text: str, run: Run) -> bool:
    """The number of something else: a parcel, a receipt, a prop."""
    before = re.findall(r"[^\W_]+", text[max(0, run.start - 40) : run.start])[-4:]
    named = [word for word in before if word not in NUMBERED and not word.isdecimal()]
    if len(named) < len(before) and BEFORE_RECORDS.intersection(named):
        return True
    if named and named[-1] in BEFORE_RECORDS or YEAR.match(run.raw):
        return True
    near = sentences(text[max(0, run.start - 60) : run.start] + " " + text[run.end : run.end + 25])
    return any_of(near, "record")
