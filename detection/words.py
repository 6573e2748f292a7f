"""A text as sentences of words, each with what it means to the detector."""

import re
from bisect import bisect_right, insort
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache

from django.conf import settings

from detection.clues import Phrases
from detection.lexicon import JAPANESE, index
from detection.normalise import unleet

ENDS = re.compile(r"(?<![.!?;。！？])[.!?;。！？]++(?=\s|$)|\n")
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
KANA_OR_KANJI = re.compile("[\u3040-\u9fff]")
SHORTEST, LONGEST = 3, 12
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
        return self.follows(one, other, reach) or self.follows(other, one, reach)

    def follows(self, first: str, then: str, reach: int) -> bool:
        places = self.places
        if first not in places or then not in places:
            return False
        # The nearest place after each, by bisection: both lists are sorted and may be long.
        after = places[then]
        nexts = ((here, bisect_right(after, here)) for here in places[first])
        return any(at < len(after) and after[at] - here <= reach for here, at in nexts)

    @cached_property
    def refuses(self) -> bool:
        """Says no to it, which is what we want people to say."""
        return bool(SAID_NO.found_in(self.text))


REFUSALS = (
    *(
        "not comfortable",
        "don't pay",
        "dont pay",
        "please don't",
        "i don't give",
        "don't share my",
        "rather keep",
        "keep it here",
        "keep everything here",
        "stay on the platform",
        "prefer to stay",
        "only work through",
        "only through the",
        "i'd rather stay",
        "not allowed",
        "won't share",
        "before we've booked",
        "before booking",
        "don't do whatsapp",
        "don't use whatsapp",
        "don't take payment",
        "don't accept",
        "not outside",
        "never outside",
        "never off",
        "prefer to keep",
        "let's keep",
        "stay here",
        "don't want to",
        "no cash",
        "don't take cash",
    ),
    *(
        "ungern raus",
        "gebe ich nicht",
        "nicht raus",
        "lieber hier",
        "bleiben hier",
        "nur uber die",
        "bitte hier",
        "nicht ausserhalb",
        "nichts ausserhalb",
        "mochte nicht",
        "will nicht",
        "nicht an der",
        "keine nummer",
        "nicht privat",
        "kein bargeld",
        "lass uns hier",
        "nicht direkt",
    ),
    *(
        "prefiero que el pago vaya",
        "prefiero no",
        "no doy mi",
        "no comparto",
        "por la plataforma",
        "no pago fuera",
        "no trabajo fuera",
        "no trabajo por fuera",
        "mejor por aqui",
        "prefiero seguir aqui",
        "no acepto",
        "no hago nada por fuera",
    ),
    *(
        "je ne prends pas",
        "je ne donne pas",
        "je prefere rester",
        "passer par la reservation",
        "je ne travaille pas",
        "je reste sur",
        "pas en dehors",
        "jamais en dehors",
        "je prefere passer par",
    ),
    *(
        "prefiro deixar o pagamento",
        "prefiro por aqui",
        "nao passo",
        "nao dou",
        "prefiro continuar aqui",
        "nao trabalho por fora",
        "nao trabalho fora",
        "nao faco nada",
        "prefiro ficar",
        "nao aceito",
    ),
    *(
        "preferisco restare",
        "non do il mio",
        "preferisco pagare qui",
        "non lavoro fuori",
        "non lascio",
        "preferisco tutto qui",
        "preferisco passare da qui",
        "non accetto",
        "non faccio",
    ),
    *("liever hier", "ik geef mijn nummer niet", "niet buiten", "nooit buiten"),
    *("wole tutaj", "nie podaje", "nie poza", "tylko przez"),
    *("burada kalalim", "vermiyorum", "paylasmiyorum", "disinda calismiyorum"),
    *("افضل هنا", "لا اعطي", "لا اتعامل خارج"),
    *("こちらでお願い", "教えられません", "お断り"),
)
SAID_NO = Phrases(REFUSALS)


def sentences(text: str) -> list[Sentence]:
    return [_read(part) for part in ENDS.split(text) if part and not part.isspace()]


def meanings_of(spoken: list[Sentence]) -> set[str]:
    """Of all of them together."""
    return set().union(*(sentence.places for sentence in spoken))


def _read(text: str) -> Sentence:
    words = WORD.findall(text)
    sentence = Sentence(text, words)
    for place, meanings in enumerate(map(meaning_of, words)):
        for meaning in meanings:
            sentence.places.setdefault(meaning, []).append(place)
    if not text.isascii() and KANA_OR_KANJI.search(text):
        for meaning, parts in JAPANESE.items():
            found = [text.find(part) for part in parts if part in text]
            if found:
                # About two characters a word; words do not stand apart here.
                insort(sentence.places.setdefault(meaning, []), 1 + found[0] // 2)
    return sentence
