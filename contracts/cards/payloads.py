"""Validates the input of cards and describes its errors by field."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from contracts.cards.card_type import CardType
from contracts.fields import field_error
from contracts.refusals import INVALID_DAY, INVALID_MOMENT
from core.refusals import Refusal


def parse_input(
    model: type[BaseModel], given: dict[str, Any], *, currency: str, locale: str = ""
) -> Any:
    """Validates input, or raises a refusal with an error for each field. Amounts are in `currency`
    and parsed in `locale`."""
    try:
        return model.model_validate(given, context={"currency": currency, "locale": locale})
    except ValidationError as error:
        errors = {
            ".".join(str(part) for part in one["loc"]): _sentence(one) for one in error.errors()
        }
        # An error of the whole model has no field.
        refusal = Refusal("CARD_INVALID", errors.get("", ""))
        refusal.details["errors"] = errors
        raise refusal from error


def _sentence(error: Any) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind in ("missing", "string_too_short", "too_short"):
        return "This field is required."
    if kind in ("string_too_long", "too_long"):
        unit = "characters" if kind == "string_too_long" else "items"
        return f"Use at most {context.get('max_length'):,} {unit}."
    if kind.startswith("datetime"):
        return INVALID_MOMENT
    if kind.startswith("date"):
        return INVALID_DAY
    if kind == "less_than_equal":
        return f"Enter {context['le']:,} or less."
    if kind == "greater_than_equal":
        return f"Enter {context['ge']:,} or more."
    return "Enter a valid value."


def content_hash(proposal: BaseModel) -> str:
    """Distinguishes a repeat of a proposal from a different one."""
    content = json.dumps(proposal.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def check_files(kind: CardType, files: Sequence[dict[str, Any]]) -> None:
    check_file_count(kind, len(files))
    if kind.file_kind and any(file["kind"] != kind.file_kind for file in files):
        raise field_error("files", "You can only attach photos here.")


def check_file_count(kind: CardType, count: int) -> None:
    least, most = kind.files
    if count < least:
        raise field_error("files", "Add a file." if least == 1 else f"Add at least {least} files.")
    if count > most:
        raise field_error(
            "files", f"You can add up to {most} files." if most else "Remove the file."
        )
