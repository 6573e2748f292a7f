"""Frames that the server encodes are readable by an independent client library."""

import pytest
from websockets.frames import Opcode
from websockets.streams import StreamReader

from messaging_site.server.websocket_writer import encode_text_frame


@pytest.mark.parametrize("size", [1, 125, 126, 127, 65_535, 65_536, 200_000])
def test_a_frame_contains_the_whole_text_at_every_length(size):
    text = ("é" + "x" * size)[:size]
    assert read(encode_text_frame(text)) == text


def read(data: bytes) -> str:
    from websockets.frames import Frame

    reader = StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    parsing = Frame.parse(reader.read_exact, mask=False)
    try:
        next(parsing)
    except StopIteration as done:
        frame = done.value
    assert (frame.opcode, frame.fin) == (Opcode.TEXT, True)
    return bytes(frame.data).decode()
