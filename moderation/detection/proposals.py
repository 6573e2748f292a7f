"""Proposals to go past the booking."""

import re

from moderation.detection.lexicon import turns
from moderation.detection.verdict import ENOUGH, Verdict
from moderation.detection.words import Sentence


def judge_phrases(verdict: Verdict, plain: str, spoken: list[Sentence]) -> None:
    scores = [_proposed(sentence) - 1.0 * sentence.refuses for sentence in spoken]
    whole = max(scores, default=0.0)
    # The reason may stand in a sentence of its own.
    for sentence, score in zip(spoken, scores, strict=True):
        if saves(sentence) and score != whole and 0.4 <= whole < ENOUGH:
            whole += 0.5
    if whole < ENOUGH and not any(sentence.refuses for sentence in spoken):
        whole = max(whole, _together(spoken))
    verdict.add("phrase", whole)


# What each adds, wherever in the message it stands.
WEIGHTS = {
    "fee": 0.4,
    "save": 0.25,
    "direct": 0.35,
    "cash": 0.45,
    "cancel": 0.3,
    "platform": 0.2,
    "pay": 0.2,
    "me": 0.1,
    "out": 0.15,
    "better": 0.1,
}


def _together(spoken: list[Sentence]) -> float:
    there = {meaning for sentence in spoken for meaning in sentence.places}
    if not there & {"direct", "cash", "cancel", "out"} or not there & {
        "fee",
        "save",
        "pay",
        "book",
    }:
        return 0.0
    if len(there & WEIGHTS.keys()) < 4:
        return 0.0
    if any(EXPENSE.search(sentence.text) for sentence in spoken):
        return 0.0
    return sum(weight for meaning, weight in WEIGHTS.items() if meaning in there)


# Money for somebody else, which is claimed here.
EXPENSE = re.compile(
    r"expense|slip|claim|beleg|auslage|spesen|gasto|ticket|note de frais|despesa|spesa|bonnetje"
)


# With whom one would rather do it.
WITH_ME = re.compile(
    r"\b(?:hire|book|pay|deal|work|contact|reach)\w* (?:to |with )?(?:me|us)? ?(?:direct|directly|privately)\b|"
    r"\bdirect(?:ly)? (?:with|to|through|from|via) (?:me|us)\b|direkt (?:bei|mit|an|uber) (?:mir|mich|uns)\b|"
    r"directamente (?:conmigo|a mi|con nosotros)|directement (?:avec|a|chez) (?:moi|nous)|"
    r"diretamente comigo|direttamente (?:con|a|da) (?:me|noi)|rechtstreeks (?:bij|met|aan) (?:mij|ons|me)|"
    r"bezposrednio (?:ze|do) mn"
)
INVOICE = re.compile(
    r"invoice|rechnung|factura|facture|fatura|fattura|faktur|privat|directly|direkt"
)


def saves(sentence: Sentence) -> bool:
    return (
        sentence.near("save", "fee", 7)
        or sentence.near("out", "fee", 4)
        or sentence.near("not", "fee", 3)
    )


def _proposed(sentence: Sentence) -> float:
    score = 0.0
    gains = sentence.has("fee") or sentence.has("save")
    if any(said in sentence.text for said in turns("said")):
        score += 1.0
    half = sum(said in sentence.text for said in turns("half_said"))
    if half:
        means = ("fee", "save", "pay", "book", "platform", "contact", "out", "cash")
        score += 0.5 * min(half, 2) + 0.3 * any(sentence.has(one) for one in means)
        score += 0.3 * sentence.has("fee") + 0.2 * (sentence.has("save") or sentence.has("out"))
    if sentence.follows("out", "platform", 3) and "site visit" not in sentence.text:
        score += 1.0 if gains or sentence.has("pay") or sentence.has("book") else 0.8
        score += 0.2 * any(sentence.has(one) for one in ("mine", "me", "move", "better"))
    elif sentence.follows("out", "here", 3) and (
        gains or sentence.has("pay") or sentence.has("book")
    ):
        score += 1.0
    if WITH_ME.search(sentence.text):
        score += 0.9 + 0.3 * gains - 0.4 * sentence.has("here")
    if saves(sentence):
        score += 0.5 + 0.5 * sentence.near("pay", "me", 3)
        if sentence.near("out", "fee", 2):
            score += 0.2 + 0.3 * (sentence.has("move") or sentence.has("me"))
    if sentence.near("pay", "direct", 4):
        score += 0.7 + 0.3 * (sentence.near("pay", "me", 3) or sentence.near("direct", "me", 2))
    if sentence.near("direct", "fee", 8):
        score += 0.4
    if sentence.near("direct", "save", 8):
        score += 0.4
    if sentence.has("cash") and (
        sentence.has("book") or sentence.has("platform") or sentence.has("here")
    ):
        score += 0.6 + 0.5 * sentence.has("not") + 0.4 * sentence.has("out")
    if sentence.near("cancel", "book", 8) and (
        sentence.has("direct") or sentence.has("cash") or half or INVOICE.search(sentence.text)
    ):
        score += 0.8 + 0.2 * sentence.has("mine")
    return score
