"""Filters of the directory, and their combinations as the index stores them."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from people.search.words import split_words

MAX_CITY_CHARS = 100


@dataclass(frozen=True)
class DirectoryFilters:
    craft: str = ""
    # Normalised by `city_key`.
    city: str = ""
    language: str = ""

    @property
    def key(self) -> str:
        return f"{self.craft}|{self.city}|{self.language}"


def city_key(city: str) -> str:
    """Equal for spellings of a city that differ only in case, accents and punctuation."""
    return " ".join(split_words(city))[:MAX_CITY_CHARS]


def list_combinations(crafts: Iterable[str], city: str, languages: Iterable[str]) -> set[str]:
    """Every combination that finds a seller, including the one without any filter."""
    cities = {"", city_key(city)}
    combined = product({"", *crafts}, cities, {"", *languages})
    return {DirectoryFilters(craft, town, language).key for craft, town, language in combined}
