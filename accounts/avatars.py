"""Who has no picture gets initials in a colour that stays."""

import unicodedata
import zlib

TONES = 12
_JOINER = "\u200d"
_NON_JOINER = "\u200c"
_VIRAMA = 9  # The combining class of the sign that ties two consonants into one letter.


def avatar_tone(user_id: str) -> int:
    return zlib.crc32(user_id.encode()) % TONES


def initials(name: str) -> str:
    """Of the first and the last word: at most two letters as people see them, in any script."""
    words = unicodedata.normalize("NFC", name).split()
    letters = [_first_letter(word) for word in ([words[0], words[-1]] if words[1:] else words)]
    # Arabic letters side by side would join into a word.
    joins = any(unicodedata.bidirectional(letter[0]) == "AL" for letter in letters)
    return (_NON_JOINER if joins else "").join(letters)


def _first_letter(word: str) -> str:
    start = next((i for i, char in enumerate(word) if char.isalnum()), 0)
    end = start + 1
    while end < len(word) and _continues(word[start:end], word[end]):
        end += 1
    return _as_capital(word[start:end])


def _continues(letter: str, char: str) -> bool:
    before = letter[-1]
    return (
        unicodedata.category(char) in {"Mn", "Mc", "Me", "Cf"}
        or before == _JOINER
        or unicodedata.combining(before) == _VIRAMA
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # The colour of a hand.
        or (_is_flag_half(char) and _is_flag_half(letter))
    )


def _is_flag_half(text: str) -> bool:
    return len(text) == 1 and "\U0001f1e6" <= text <= "\U0001f1ff"


def _as_capital(letter: str) -> str:
    capital = (
        letter.title()
    )  # Not upper(): Georgian has capitals, but does not write names in them.
    return capital if len(capital) == len(letter) else letter
