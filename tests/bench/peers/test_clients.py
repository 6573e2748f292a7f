"""The clients of the driver, without a server."""

import re
from xml.etree import ElementTree

import orjson
import pytest

from tests.bench.peers.bodies import random_body
from tests.bench.peers.websocket_clients import ParleyClient, PrivateChatClient
from tests.bench.peers.xmpp import StanzaParser, XmppClient
from tests.bench.peers.xmpp_accounts import archived_count

# What ejabberd sends: the header of the stream, a message with its archive id, a marker, a pong.
STREAM = (
    b"<?xml version='1.0'?><stream:stream id='7' version='1.0' xmlns='jabber:client' "
    b"xmlns:stream='http://etherx.jabber.org/streams' from='localhost'><stream:features/>"
    b"<message to='b@localhost' from='a@localhost/bench' type='chat' id='m1'>"
    b"<archived by='b@localhost' id='17' xmlns='urn:xmpp:mam:tmp'/>"
    b"<stanza-id by='b@localhost' id='17' xmlns='urn:xmpp:sid:0'/><body>At 5 &amp; 6?</body>"
    b"<markable xmlns='urn:xmpp:chat-markers:0'/></message>"
    b"<message from='a@localhost/bench' type='chat' id='r2'>"
    b"<displayed xmlns='urn:xmpp:chat-markers:0' id='m9'/></message>"
    b"<iq type='result' id='p3'/>"
    b"<message from='b@localhost' type='error' id='m4'><body>x</body><error type='cancel'>"
    b"<service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></message>"
)
ARCHIVE_ANSWER = """<iq type='result' id='count' xmlns='jabber:client'>
<fin xmlns='urn:xmpp:mam:2' complete='false'>{}</fin></iq>"""
RESULT_SET = "<set xmlns='http://jabber.org/protocol/rsm'><count>5000</count></set>"


class Recorded:
    """Collects what a client reports and what it writes."""

    def __init__(self, kind, **account):
        self.delivered, self.errors, self.written = [], [], []
        self.client = kind(account, self.delivered.append, self.errors.append)
        self.client.stream = self.client.socket = self

    def write(self, text):
        self.written.append(ElementTree.fromstring(text))

    def send_text(self, payload):
        self.written.append(orjson.loads(payload))


@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
def test_a_stream_is_split_into_stanzas_wherever_its_packets_end(size):
    parser = StanzaParser()
    packets = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
    stanzas = [stanza for packet in packets for stanza in parser.feed(packet)]
    assert [stanza.get("id") for stanza in stanzas] == [None, "m1", "r2", "p3", "m4"]
    assert stanzas[1].findtext("{jabber:client}body") == "At 5 & 6?"


def test_a_parser_keeps_no_stanza():
    parser = StanzaParser()
    assert list(parser.feed(STREAM))
    assert len(parser._root) == 0


def test_only_messages_with_a_body_are_deliveries_on_xmpp():
    recorded = Recorded(XmppClient, other="a")
    for stanza in StanzaParser().feed(STREAM):
        recorded.client.on_stanza(stanza)
    assert recorded.delivered == ["m1"]
    assert recorded.errors == ["message, body, error, service-unavailable"]


def test_the_xmpp_client_writes_stanzas_with_keys_of_their_own():
    recorded = Recorded(XmppClient, other="a")
    client = recorded.client
    keys = [client.send_message(random_body(with_digits=True)) for _ in range(2)]
    client.newest = "m8"
    client.mark_read()
    client.ping()
    first, second, marker, ping = recorded.written
    assert [first.get("id"), second.get("id")] == keys
    assert first.get("to") == marker.get("to") == "a@localhost"
    assert marker.find("{urn:xmpp:chat-markers:0}displayed").get("id") == "m8"
    assert marker.find("body") is None
    assert ping.get("type") == "get"


def test_the_size_of_an_archive_is_read_from_its_answer():
    assert archived_count(ElementTree.fromstring(ARCHIVE_ANSWER.format(RESULT_SET))) == 5000
    with pytest.raises(ConnectionError):
        archived_count(ElementTree.fromstring(ARCHIVE_ANSWER.format("")))


def test_a_message_is_delivered_by_parley_with_its_client_id():
    recorded = Recorded(ParleyClient, thread="thrd_1")
    client = recorded.client
    event = {"type": "message.sent", "thread": "thrd_1", "message": "msg_1", "seq": 7, "tally": 6}
    client.on_payload(orjson.dumps(event | {"client_id": "abc"}))
    client.on_payload(b'{"type":"inbox.changed"}')
    client.on_payload(b'{"type":"error","code":"RATE_LIMITED"}')
    assert recorded.delivered == ["abc"]
    assert recorded.errors == ['{"type":"error","code":"RATE_LIMITED"}']
    client.mark_read()
    assert recorded.written == [event | {"type": "thread.mark_read"}]


def test_a_message_of_private_chat_counts_when_it_is_stored():
    recorded = Recorded(PrivateChatClient, other="4")
    client = recorded.client
    assert [client.send_message("one"), client.send_message("two")] == [-1, -2]
    client.on_payload(b'{"msg_type":3,"random_id":-1,"text":"one"}')
    assert recorded.delivered == []
    client.on_payload(b'{"msg_type":8,"random_id":-1,"db_id":31}')
    assert recorded.delivered == [-1]
    client.mark_read()
    assert recorded.written[-1] == {"msg_type": 6, "user_pk": "4", "message_id": 31}


@pytest.mark.parametrize("with_digits", [True, False])
def test_bodies_have_100_bytes_and_digits_only_if_wanted(with_digits):
    for _ in range(200):
        body = random_body(with_digits=with_digits)
        assert len(body.encode()) == 100
        assert bool(re.search(r"\d", body)) == with_digits
        assert not re.search("[<>&]", body)
