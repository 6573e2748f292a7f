"""What the pages with uploads have in common."""

from collections.abc import Callable

from django.core.exceptions import ValidationError
from django.forms import Form

from core.refusals import Refusal


def submit(form: Form, field: str, action: Callable[[], object]) -> int:
    """Runs the action if the form is valid. Returns the status of the page to show again, with the
    reason at the field, or 0 if the action was done."""
    if not form.is_valid():
        return 400
    try:
        action()
    except Refusal as refusal:
        form.add_error(field, f"{refusal.message} {refusal.hint}")
        return refusal.status
    except ValidationError as error:
        form.add_error(None, error.messages)
        return 400
    return 0
