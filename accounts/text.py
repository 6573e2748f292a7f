"""What may stand in a line about a person: a name, a city, a headline."""

import re
import unicodedata

from django.core.exceptions import ValidationError

from detection import REASONS, judge

# More marks on one letter than any script has.
_HEAP = re.compile("m{7}")
# Marks that turn the direction of everything after them, also of what is not the person's own.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def check_line(text: str) -> None:
    kinds = [unicodedata.category(char) for char in text]
    if _TURNING.intersection(text) or not {"Cc", "Zl", "Zp"}.isdisjoint(kinds):
        raise ValidationError("Use one line of plain text.", code="line")
    if _HEAP.search("".join("m" if kind in ("Mn", "Me") else " " for kind in kinds)):
        raise ValidationError("Use fewer marks on one letter.", code="marks")
    if text and not any(kind[0] in "LNPS" for kind in kinds):
        raise ValidationError("Use at least one letter that can be seen.", code="unseen")


def check_policy(text: str) -> None:
    """A profile is read before anything is booked: no way round the site in it."""
    verdict = judge(text)
    # Here there is no word to the author, only yes or no: a guess is not enough for a no.
    if verdict.is_sure:
        told = " and ".join(REASONS[reason] for reason in verdict.reasons)
        wrong = f"This looks like {told}. Leave it out: people write to you here."
        raise ValidationError(wrong, code="policy")
