"""A text as sentences of words, each with what it means to the detector."""

import re
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache

from django.conf import settings

from moderation.detection.folding import unleet
from moderation.detection.lexicon import dense, index, turns

ENDS = re.compile(r"[.!?;\n。！？]+(?=\s|$)|\n")
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
SHORTEST, LONGEST = 2, 12
DENSE = re.compile("[\u3040-\u9fff\uac00-\ud7af]")
NOTHING: frozenset[str] = frozenset()


@cache
def known() -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    return index(settings.POLICY_WORDS)


@lru_cache(maxsize=16_384)
def meaning_of(word: str) -> frozenset[str]:
    words, stems = known()
    found = words.get(word, NOTHING)
    for length in range(SHORTEST, min(len(word), LONGEST) + 1):
        stem = stems.get(word[:length])
        if stem:
            found = found | stem
    if not found and "'" in word:
        return meaning_of(word.partition("'")[0])
    if not found and not word.isalpha() and any(letter.isalpha() for letter in word):
        read = unleet(word)
        return words.get(read, NOTHING) if read != word else NOTHING
    return found


@dataclass
class Sentence:
    text: str
    words: list[str]
    places: dict[str, list[int]] = field(default_factory=dict)

    def has(self, meaning: str) -> bool:
        return meaning in self.places

    @property
    def is_short(self) -> bool:
        return len(self.words) <= 5

    def near(self, one: str, other: str, reach: int) -> bool:
        return any(
            here != there and abs(here - there) <= reach
            for here in self.places.get(one, ())
            for there in self.places.get(other, ())
        )

    def follows(self, first: str, then: str, reach: int) -> bool:
        return any(
            0 < there - here <= reach
            for here in self.places.get(first, ())
            for there in self.places.get(then, ())
        )

    @cached_property
    def refuses(self) -> bool:
        """Says no to it, which is what we want people to say."""
        return any(turn in self.text for turn in turns("refused"))


def sentences(text: str) -> list[Sentence]:
    return [_read(part) for part in ENDS.split(text) if part and not part.isspace()]


def any_of(spoken: list[Sentence], meaning: str) -> bool:
    return any(sentence.has(meaning) for sentence in spoken)


def _read(text: str) -> Sentence:
    words = WORD.findall(text)
    sentence = Sentence(text, words)
    for place, word in enumerate(words):
        for meaning in meaning_of(word):
            sentence.places.setdefault(meaning, []).append(place)
    if DENSE.search(text):
        for meaning, parts in dense().items():
            found = [text.find(part) for part in parts if part in text]
            if found:
                # About two characters a word; words do not stand apart here.
                sentence.places.setdefault(meaning, []).append(1 + found[0] // 2)
    return sentence
