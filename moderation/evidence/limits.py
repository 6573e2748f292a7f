"""Size limits of evidence."""

import json
from bisect import bisect_right
from typing import Any

# Limit of one report.
MAX_EVIDENCE_BYTES = 128 * 1024
# Limit of one message with its earlier bodies. The current body (MAX_BODY) always fits.
MAX_MESSAGE_BYTES = 64 * 1024
SEPARATOR_BYTES = len(", ")


def limit_evidence(shown: dict[str, Any], limit: int = MAX_EVIDENCE_BYTES) -> dict[str, Any]:
    """Trims earlier bodies, then drops the messages furthest from the reported one (or the oldest)
    until the rest fits. A single message, or any other field, may still exceed the limit."""
    if "messages" in shown:
        messages = [_trim_earlier(message) for message in shown["messages"]]
        return _drop_furthest(shown | {"messages": messages}, limit)
    return _trim_text(shown, limit) if "text" in shown else shown


def _trim_earlier(message: dict[str, Any]) -> dict[str, Any]:
    """Drops the oldest versions of a message and counts them."""
    earlier = message.get("earlier", [])
    left_out = message.get("earlier_left_out", 0)
    remaining = MAX_MESSAGE_BYTES - count_bytes(
        message | {"earlier": [], "earlier_left_out": left_out + len(earlier)}
    )
    retained: list[Any] = []
    for version in reversed(earlier):
        remaining -= count_bytes(version) + SEPARATOR_BYTES
        if remaining < 0:
            left_out += len(earlier) - len(retained)
            return message | {"earlier": retained[::-1], "earlier_left_out": left_out}
        retained.append(version)
    return message


def _drop_furthest(shown: dict[str, Any], limit: int) -> dict[str, Any]:
    messages, left_out = shown["messages"], shown.get("left_out", 0)
    ids = [message["id"] for message in messages]
    about = ids.index(shown["about"]) if shown["about"] in ids else len(ids) - 1
    size = count_bytes(shown | {"left_out": left_out + len(messages)})
    first, last = 0, len(messages) - 1
    while first < last and size > limit:
        furthest = first if about - first >= last - about else last
        size -= count_bytes(messages[furthest]) + SEPARATOR_BYTES
        first, last = (first + 1, last) if furthest == first else (first, last - 1)
    retained = messages[first : last + 1]
    if len(retained) == len(messages):
        return shown
    left_out += len(messages) - len(retained)
    return shown | {"messages": retained, "left_out": left_out}


def _trim_text(shown: dict[str, Any], limit: int) -> dict[str, Any]:
    """Cuts the end of a text that was never sent and counts the characters."""
    if count_bytes(shown) <= limit:
        return shown
    text, left_out = shown["text"], shown.get("text_left_out", 0)
    empty = shown | {"text": "", "text_left_out": left_out + len(text)}
    remaining = limit - count_bytes(empty) + count_bytes("")
    fits = bisect_right(range(len(text)), remaining, key=lambda end: count_bytes(text[:end]))
    retained = text[: max(fits - 1, 0)]
    return shown | {"text": retained, "text_left_out": left_out + len(text) - len(retained)}


def count_bytes(content: Any) -> int:
    return len(json.dumps(content, ensure_ascii=False, default=str).encode())
