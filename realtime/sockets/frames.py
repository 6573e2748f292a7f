"""Frames: JSON objects with a type. Those of clients are untrusted and limited in size."""

from typing import Any

import orjson

from core.refusals import Refusal

MAX_FRAME_BYTES = 64 * 1024


class FrameTooLarge(Exception):
    pass


def decode(text: str) -> dict[str, Any]:
    # A character has at most four bytes.
    if 4 * len(text) > MAX_FRAME_BYTES and len(text.encode(errors="replace")) > MAX_FRAME_BYTES:
        raise FrameTooLarge
    try:
        frame = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Refusal("BAD_FRAME", hint="A frame is one JSON object.") from error
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        raise Refusal("BAD_FRAME", hint="A frame is one JSON object with a type.")
    return frame


def encode(event: Any) -> str:
    return orjson.dumps(event).decode()
