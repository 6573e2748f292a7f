"""Errors of the store."""

from core.refusals import Refusal

BREAKER_OPEN = "circuit breaker open"


class StoreUnavailable(Refusal):
    """The store did not respond or refused temporarily. A write may or may not have happened."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__("TRY_AGAIN")


def should_log(error: Exception) -> bool:
    """Whether to log the error; the circuit breaker has logged an outage once already."""
    return not (isinstance(error, StoreUnavailable) and error.reason == BREAKER_OPEN)
