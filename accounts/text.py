"""What may stand in a line about a person: a name, a city, a headline."""

import unicodedata

from django.core.exceptions import ValidationError

# Marks that turn the direction of everything after them, also of what is not the person's own.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def check_line(text: str) -> None:
    kinds = [unicodedata.category(char) for char in text]
    if _TURNING.intersection(text) or not {"Cc", "Zl", "Zp"}.isdisjoint(kinds):
        raise ValidationError("Use one line of plain text.", code="line")
    if text and not any(kind[0] in "LNPS" for kind in kinds):
        raise ValidationError("Use at least one letter that can be seen.", code="unseen")
