"""Rules that find explicit evidence, each with a score for one of the reasons."""

import re
from collections.abc import Callable

from detection import numbers
from detection.addresses import (
    SAID,
    find_links,
    find_reversed,
    has_account,
    has_hidden_link,
    has_mail,
    score_link,
    variants,
)
from detection.lexicon import NAMES, hidden_names
from detection.reading import SENTENCE_GAP, Reading

SENTENCE = SENTENCE_GAP - 1
# Numbers such as two hundred have more digits in words than in digits.
MAX_SPELLED_DIGITS = 24
HANDLE = re.compile(r"(?<![\w@.])@[a-z_][\w.-]{2,40}|(?<![\w#])[a-z][\w.]{2,30}#\d{4}(?!\d)")
CASHTAG = re.compile(r"(?<![\w$])\$[a-z][\w-]{2,30}")
GIVEN_NAME = re.compile(
    r"[:=]\s?@?[a-z][\w.]{3,}|(?<![\w/@.#-])[a-z][a-z0-9]*(?:[._][a-z0-9]+)+(?![\w/@-])"
)
SQUEEZED = {code: None for code in range(128) if not chr(code).isalpha()} | str.maketrans(
    "@$!|013457", "asiioieast"
)
ADDRESS_GATES = frozenset({"sign", "dotted", "bracket", "spaced", "mixed", "backwards", "parted"})
PLACES = {"messenger": 0.9, "social": 0.5, "messenger_weak": 0.2}
ASKING = ("contact", "yours", "number", "move", "better", "mine", "are_you_on")

PROPOSING = frozenset(
    {"proposal", "with_me", "half_proposal", "out", "fee", "direct", "cancel", "cash"}
)

Scores = dict[str, float]
Rule = Callable[[Reading], list[tuple[str, float]]]


def match_rules(reading: Reading) -> Scores:
    """The scores of the reasons; from 1 the evidence is explicit."""
    meanings, gates = reading.places.keys(), reading.gates
    found = [*_numbers(reading), *_hidden(reading)]
    for rule, rule_meanings, rule_gates in RULES:
        if not rule_meanings.isdisjoint(meanings) or not rule_gates.isdisjoint(gates):
            found += rule(reading)
    scores: Scores = {}
    for reason, score in found:
        if score > scores.get(reason, 0.0):
            scores[reason] = round(score, 2)
    return scores


def _numbers(reading: Reading) -> list[tuple[str, float]]:
    text, found = reading.folded, []
    if "digits" in reading.gates or "mixed" in reading.gates or not text.isascii():
        for run in numbers.find_runs(text):
            found.append(("phone", numbers.score_run(run, reading)))
            if 15 <= len(run.digits) <= 24 and reading.has("pay", "payservice"):
                found.append(("payment", 1.1 - 0.9 * numbers.is_record(run, text)))
    if any(word.is_number for word in reading.words):
        spelled = numbers.find_spelled(reading.words)
        if any(7 <= len(digits) <= MAX_SPELLED_DIGITS for digits in spelled):
            found.append(("phone", 0.4 if reading.has("record", "scene") else 1.2))
    return found


def _addresses(reading: Reading) -> list[tuple[str, float]]:
    readings, text, found = [*variants(reading)], reading.folded, []
    if any(map(has_mail, readings)):
        found.append(("email", 1.2))
    elif "backwards" in reading.gates or reading.has("reversed") or "@" in text:
        found.append((find_reversed(text), 1.1))
    if any(map(has_account, readings[:2])):
        found.append(("payment", 1.2))
    shown = find_links(text)
    if len(readings) > 1 and has_hidden_link(readings[-1], shown):
        # An obfuscated address is meant to be visited.
        found.append(("link", 1.0))
    return [one for one in found if one[0]] + [("link", score_link(link, text)) for link in shown]


def _hidden(reading: Reading) -> list[tuple[str, float]]:
    """Names of services with something between their letters, or backwards."""
    if not NAMES.isdisjoint(reading.places.keys()):
        return []
    return [("handle", 1.1) for _ in hidden_names(reading.folded.translate(SQUEEZED))]


def _places(reading: Reading) -> list[tuple[str, float]]:
    """Messengers and social networks."""
    text, place = reading.folded, next(filter(reading.has, PLACES), "")
    score = PLACES.get(place, 0.0)
    if "sign" in reading.gates and HANDLE.search(text):
        score += 0.6
    elif place and GIVEN_NAME.search(text):
        score += 0.5
    if score and any(reading.near(one, place, 4) for one in ASKING):
        score += 0.5
    elif place == "messenger" and reading.has("#asks"):
        score += 0.2
    if reading.near("work", place, 2) or reading.near("refusal", place, SENTENCE):
        score -= 0.8
    hinted = reading.has("hint", "dm") * (0.7 + 0.4 * reading.has("contact", "mine", "same_name"))
    return [("handle", score), ("handle", hinted)]


def _payment(reading: Reading) -> list[tuple[str, float]]:
    is_service = reading.has("payservice") or reading.near("pay", "payservice_weak", 4)
    intends = reading.has("pay", "mine", "fee", "uses", "contact", "#price", "#asks")
    is_work = reading.near("work", "payservice", 6) or reading.has("refusal")
    score = is_service * (0.8 + 0.3 * intends)
    if reading.has("bankdetails") or reading.follows("mine", "account", 2):
        score = max(score, 0.6 + 0.4 * reading.has("bankdetails", "transfer"))
    if "sign" in reading.gates and CASHTAG.search(reading.folded):
        score = max(score, 0.6 + 0.6 * intends)
    return [("payment", score - 0.8 * is_work)]


def _requests(reading: Reading) -> list[tuple[str, float]]:
    """Requests for a number or an address."""
    found = [("email", (0.8 + 0.3 * reading.has("contact", "mine")) * reading.has("mailprovider"))]
    for reason, thing in (("phone", "number"), ("email", "mailbox")):
        asked = reading.follows("your", thing, 2) or reading.follows("exchange", thing, 2)
        asked = asked and not reading.has("counted")
        wants = reading.follows("ask", thing, 4) * (0.7 + 0.3 * reading.has("#asks"))
        found.append((reason, 1.0 * asked or wants))
    found.append(
        ("link", (0.6 + 0.4 * reading.has("contact")) * reading.near("search", "searched", 8))
    )
    return [(reason, score - 0.8 * reading.has("refusal")) for reason, score in found]


def _proposals(reading: Reading) -> list[tuple[str, float]]:
    score = 1.0 * reading.has("proposal", "with_me")
    score += 0.5 * min(len(reading.places.get("half_proposal", ())), 2)
    score += 0.9 * reading.follows("out", "platform", 3) or 0.6 * reading.follows("out", "here", 3)
    score += 0.5 * (reading.near("out", "fee", 3) or reading.near("save", "fee", 7))
    score += 0.7 * reading.near("pay", "direct", 4) + 0.5 * reading.near("cancel", "book", 8)
    score += 0.5 * (reading.has("cash") and reading.has("book", "platform", "here"))
    return [("phrase", score - 1.0 * reading.has("refusal", "either"))]


# Each rule runs only if the text has one of its meanings or gates.
RULES: tuple[tuple[Rule, frozenset[str], frozenset[str]], ...] = (
    (_addresses, frozenset({*SAID, "reversed"}), ADDRESS_GATES),
    (_places, frozenset({*PLACES, "hint", "dm"}), frozenset({"sign"})),
    (
        _payment,
        frozenset({"payservice", "payservice_weak", "bankdetails", "account"}),
        frozenset({"sign"}),
    ),
    (_requests, frozenset({"number", "mailbox", "mailprovider", "search"}), frozenset()),
    (_proposals, PROPOSING, frozenset()),
)
