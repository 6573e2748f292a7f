"""What a newer version stored and this one does not know: it is left out or shown as a placeholder,
logged once per kind and counted."""

import structlog

from core import metrics

log = structlog.get_logger(__name__)

# Kinds come from stored data: a metric needs a bounded number of labels.
MAX_KINDS = 50
MAX_KIND_LENGTH = 60

_seen: set[str] = set()


def record_unknown_item(pk: str, sk: str) -> None:
    """By the constant parts of its keys."""
    record_unknown(f"{pk.partition('#')[0]}/{sk.partition('#')[0]}")


def record_unknown(kind: str) -> None:
    kind = kind[:MAX_KIND_LENGTH]
    if kind not in _seen and len(_seen) >= MAX_KINDS:
        kind = "other"
    metrics.UNKNOWN_KINDS.labels(kind).inc()
    if kind not in _seen:
        _seen.add(kind)
        log.warning("unknown_kind", kind=kind)
