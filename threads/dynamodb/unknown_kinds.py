"""Items and values of kinds that only a newer version has.

They are left out or shown as a placeholder, counted, and logged once per kind.
"""

import structlog

from core import metrics

log = structlog.get_logger(__name__)

# Kinds come from stored data, and the number of labels of a metric must be bounded.
MAX_KINDS = 50
MAX_KIND_LENGTH = 60

_seen: set[str] = set()


def record_unknown_item(pk: str, sk: str) -> None:
    """Identifies the kind by the constant parts of the keys."""
    record_unknown(f"{pk.partition('#')[0]}/{sk.partition('#')[0]}")


def record_unknown(kind: str) -> None:
    kind = kind[:MAX_KIND_LENGTH]
    if kind not in _seen and len(_seen) >= MAX_KINDS:
        kind = "other"
    metrics.UNKNOWN_KINDS.labels(kind).inc()
    if kind not in _seen:
        _seen.add(kind)
        log.warning("unknown_kind", kind=kind)
