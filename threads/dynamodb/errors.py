"""What the models raise when the store cannot do what it was asked."""

from core.refusals import Refusal

BREAKER_OPEN = "circuit breaker open"


class StoreUnavailable(Refusal):
    """The store did not answer, or not now. A write may or may not have happened."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__("TRY_AGAIN")


def should_log(error: Exception) -> bool:
    """An outage was logged once, by the circuit breaker; not again for every request."""
    return not (isinstance(error, StoreUnavailable) and error.why == BREAKER_OPEN)
