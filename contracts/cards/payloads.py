"""What was typed with a card: checked by its type, or refused part by part."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from contracts.cards.card_type import CardType
from contracts.fields import invalid
from core.refusals import Refusal


def read(model: type[BaseModel], given: dict[str, Any], locale: str = "") -> Any:
    """What was typed, checked; or a refusal that says what is wrong with which part. Amounts are
    read in `locale`."""
    try:
        return model.model_validate(given, context={"locale": locale})
    except ValidationError as error:
        errors = {
            ".".join(str(part) for part in one["loc"]): _sentence(one) for one in error.errors()
        }
        # What is wrong with the whole is no part's.
        refusal = Refusal("CARD_INVALID", errors.get("", ""))
        refusal.details["errors"] = errors
        raise refusal from error


def _sentence(error: Any) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind in ("missing", "string_too_short", "too_short"):
        return "This is missing."
    if kind in ("string_too_long", "too_long"):
        return f"At most {context.get('max_length'):,} fit here."
    if kind.startswith("datetime"):
        return "That is not a date and a time."
    if kind.startswith("date"):
        return "That is not a date."
    if kind == "less_than_equal":
        return f"Enter {context['le']:,} or less."
    if kind == "greater_than_equal":
        return f"Enter {context['ge']:,} or more."
    return "That cannot be right."


def seal(proposal: BaseModel) -> str:
    """Tells a repeat of a proposal from another one."""
    said = json.dumps(proposal.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


def check_files(kind: CardType, files: Sequence[dict[str, Any]]) -> None:
    check_file_count(kind, len(files))
    if kind.file_kind and any(file["kind"] != kind.file_kind for file in files):
        raise invalid("files", "Only pictures belong to it.")


def check_file_count(kind: CardType, count: int) -> None:
    least, most = kind.files
    if not least <= count <= most:
        wanted = f"{least} to {most} files" if most > 1 else "A file"
        raise invalid("files", f"{wanted} belong to it.")
