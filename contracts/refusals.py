"""Refusals and their texts that several modules share."""

from core.refusals import Refusal

AMOUNT_TOO_LARGE = "That amount is too large."
DEPOSIT_TOO_LARGE = "The deposit can't be more than the price."
END_BEFORE_START = "The end must be after the start."
INVALID_DAY = "Enter a valid date."
INVALID_MOMENT = "Enter a valid date and time."
NOT_YOUR_DECISION = "This decision isn't yours to make."
ONLY_SELLER_RECORDS = "Only the seller can record payments."


def not_found(what: str) -> Refusal:
    """Also raised for records of other users, so that their existence is not revealed."""
    return Refusal("THREAD_NOT_FOUND", f"We couldn't find that {what}.")
