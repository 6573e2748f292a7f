"""Validators for the single-line texts of a profile: name, city, headline."""

import re
import unicodedata

from django.core.exceptions import ValidationError

from detection import REASONS, judge

# More combining marks on one letter than any script uses.
_STACKED_MARKS = re.compile("m{7}")
# Bidirectional controls, which would also affect the text after the field.
_BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def check_line(text: str) -> None:
    kinds = [unicodedata.category(char) for char in text]
    if _BIDI_CONTROLS.intersection(text) or not {"Cc", "Zl", "Zp"}.isdisjoint(kinds):
        raise ValidationError("Use one line of plain text.", code="line")
    if _STACKED_MARKS.search("".join("m" if kind in ("Mn", "Me") else " " for kind in kinds)):
        raise ValidationError("Use fewer marks on one letter.", code="marks")
    if text and not any(kind[0] in "LNPS" for kind in kinds):
        raise ValidationError("Use at least one visible character.", code="unseen")


def check_policy(text: str) -> None:
    """Refuses contact details: a profile is visible before anything is booked."""
    verdict = judge(text)
    # A profile is accepted or refused without a warning, so a guess is not enough.
    if verdict.is_sure:
        found = " and ".join(REASONS[reason] for reason in verdict.reasons)
        raise ValidationError(
            f"This looks like {found}. Please remove it. People can message you on Parley.",
            code="policy",
        )
