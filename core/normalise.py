"""Normalises text for comparison: case, accents and width."""

import unicodedata


def normalise(text: str) -> str:
    if text.isascii():
        return text.lower()
    return "".join(normalise_letter(letter) for letter in text)


def normalise_letter(letter: str) -> str:
    # Letter by letter, so that each result maps to a position in the original.
    decomposed = unicodedata.normalize("NFKD", letter)
    kept = "".join(part for part in decomposed if not unicodedata.combining(part))
    # Composed again, so that Korean can be found by syllables.
    return unicodedata.normalize("NFC", kept).casefold()
