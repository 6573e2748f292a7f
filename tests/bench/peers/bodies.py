"""Texts of 100 bytes, which differ so that no cache of texts helps."""

import random

from tests.bench.messaging_load import WORDS

SIZE = 100
PLAIN = (
    "Could we move the {} to the {}? The light in the {} is best before the {}, I think, and the"
)
# A time, a day, hours and people, as in most plans.
WITH_DIGITS = (
    "Could we move the {} to {}:{}0 on the {}th? We need the {} for {} hours and {} people, and"
)


def random_body(*, with_digits: bool) -> str:
    text = _text_with_digits() if with_digits else PLAIN.format(*random.choices(WORDS, k=4))
    while len(text) < SIZE:
        text += f" {random.choice(WORDS)}"
    return text[: SIZE - 1] + "."


def _text_with_digits() -> str:
    first, second = random.choices(WORDS, k=2)
    hour, day = random.randint(8, 20), random.randint(4, 20)
    minutes, hours, people = random.randint(0, 5), random.randint(2, 9), random.randint(2, 40)
    return WITH_DIGITS.format(first, hour, minutes, day, second, hours, people)
