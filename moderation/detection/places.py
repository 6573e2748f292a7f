"""Somewhere else to talk: messengers, networks, accounts."""

import re

from moderation.detection.addresses import HANDLE, UNDERSCORED
from moderation.detection.verdict import Verdict
from moderation.detection.words import Sentence

FORMAT = re.compile(r"(?<!\d)\d{1,2}:\d{1,2}(?!\d)|\d{3,4} ?[x×] ?\d{3,4}|\d+ ?px\b")
# "ig: moth.and.moon"
GIVEN = re.compile(
    r"(?<!\w)(?:ig|insta|instagram|snap|snapchat|signal|line|telegram|tg|whatsapp|wa|skype|discord|"
    r"tiktok|fb|facebook|wechat|viber|kik|line id|インスタ)\s?(?:id|handle|name)?\s?[:=]\s?@?[a-z][\w.]{3,}"
)


def judge_places(verdict: Verdict, sentence: Sentence) -> None:
    handle = HANDLE.search(sentence.text)
    messenger, weak = sentence.has("messenger"), sentence.has("messenger_weak")
    social = sentence.has("social")
    if sentence.refuses or not (handle or messenger or weak or social):
        return
    asks = any(sentence.has(one) for one in ("contact", "yours", "number", "move", "better"))
    mine = sentence.has("mine")
    place = "messenger" if messenger else "social" if social else "messenger_weak"
    close = sentence.near("contact", place, 6) or sentence.near("mine", place, 3)
    close = close or sentence.near("better", place, 4) or sentence.near("move", place, 3)
    asked = sentence.near("yours", place, 1)
    # The brand as a client or a look stands right beside the word for it.
    work = sentence.near("work", place, 1) or (sentence.has("work") and not close and not asked)
    if place == "social":
        # A social network is a format more often than a place to talk.
        made = sentence.has("work") or bool(FORMAT.search(sentence.text))
        work = made and not asked and not sentence.near("contact", place, 4)
    score = 0.0
    if messenger:
        score = 1.0 + 0.2 * (asks or mine) - 0.8 * work
    elif social:
        score = 0.45 + 0.35 * (asks or sentence.is_short) + 0.2 * mine - 0.7 * work
        if close or asked:
            score += 0.35 + 0.2 * sentence.near("mine", "social", 1)
    elif weak:
        near = sentence.near("contact", "messenger_weak", 5) or sentence.near(
            "move", "messenger_weak", 2
        )
        near = near or sentence.near("better", "messenger_weak", 3)
        score = 0.3 + 0.8 * (near or asked) - 0.8 * work
    if handle:
        named = messenger or social or weak
        score += 0.6 if named else 0.6 + 0.4 * (mine or asks or sentence.is_short) - 0.5 * work
    if GIVEN.search(sentence.text):
        score += 0.8
    elif (messenger or social or weak) and UNDERSCORED.search(sentence.text) and not work:
        score += 0.4
    verdict.add("handle", score)
