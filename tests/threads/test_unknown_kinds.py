"""Items and values of a newer version do not break the pages of this one."""

import pytest

from tests.threads.conftest import messages_of, say, start
from threads import cache
from threads.dynamodb import keys, unknown_kinds
from threads.dynamodb.table import Item, connection, get_many, query

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _reset_seen_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unknown_kinds, "_seen", set())


def put(pk: str, sk: str, **values: object) -> None:
    connection().put_item(pk, sk, attributes={name: {"S": str(v)} for name, v in values.items()})


# Keys before, between, similar to and after the kinds of a thread's partition.
UNKNOWN_KEYS = ["AAA#1", "POLL#1", "MSG2#1", "THR2", "THR#1", "TAB#budget", "ZZZ"]


@pytest.mark.parametrize("sk", UNKNOWN_KEYS)
def test_pages_work_with_an_unknown_item_in_the_thread(client, buyer, seller, thread, sk):
    say(seller, thread, "Gladly")
    put(keys.thread_pk(thread), sk, title="Which date?")
    cache.invalidate(thread)
    client.force_login(buyer)
    for path in (f"/threads/{thread}/", "/inbox/"):
        assert client.get(path).status_code == 200, path
    assert "Gladly" in client.get(f"/threads/{thread}/").content.decode()


def test_many_unknown_items_do_not_displace_known_ones(client, buyer, thread):
    for number in range(150):
        put(keys.thread_pk(thread), f"VOTE#{number:03d}")
    cache.invalidate(thread)
    client.force_login(buyer)
    page = client.get(f"/threads/{thread}/")
    assert page.status_code == 200
    assert "Are you free in May?" in page.content.decode()
    assert set(cache.reload(thread).people) == set(cache.reload(thread).thread.participants)


@pytest.mark.storage
def test_a_page_of_a_query_has_the_requested_length(thread, buyer):
    pk = keys.thread_pk(thread)
    for _ in range(4):
        say(buyer, thread)
    for message in messages_of(thread):
        put(pk, f"{message.sk.replace('MSG#', 'MSG2#')}")
    page = query(pk, Item.sk >= "MSG", limit=7)
    assert len(page.items) == 7
    assert get_many([(pk, "AAA#1"), (pk, keys.THREAD)])[0].sk == keys.THREAD


def test_an_unknown_item_of_a_user_is_omitted(client, buyer, seller, thread):
    put(keys.user_pk(buyer.id), "BADGE#1")
    put(keys.user_pk(buyer.id), "PROFILE2")
    page = query(keys.user_pk(buyer.id), limit=100)
    assert not {"BADGE#1", "PROFILE2"} & {item.sk for item in page.items}
    client.force_login(buyer)
    for path in ("/inbox/", "/inbox/action-required/", "/settings/devices/"):
        assert client.get(path).status_code == 200, path


def test_each_unknown_kind_is_logged_once_and_every_item_counted(thread, caplog):
    before = unknown_kinds.metrics.UNKNOWN_KINDS.labels("THR/POLL")._value.get()
    for number in range(3):
        put(keys.thread_pk(thread), f"POLL#{number}")
    for _ in range(2):
        query(keys.thread_pk(thread), limit=100)
    logged = [record.msg["kind"] for record in caplog.records if "kind" in record.msg]
    assert logged == ["THR/POLL"]
    assert unknown_kinds.metrics.UNKNOWN_KINDS.labels("THR/POLL")._value.get() == before + 6


def test_the_number_of_logged_kinds_is_bounded(monkeypatch, caplog):
    monkeypatch.setattr(unknown_kinds, "MAX_KINDS", 3)
    for number in range(10):
        unknown_kinds.record_unknown(f"kind {number}")
    assert [record.msg["kind"] for record in caplog.records] == [
        "kind 0",
        "kind 1",
        "kind 2",
        "other",
    ]


# --- Unknown values of known kinds


def set_on_message(message, **values) -> None:
    message.update([getattr(type(message), name).set(value) for name, value in values.items()])


@pytest.mark.parametrize("author", ["buyer", None])
@pytest.mark.parametrize("body", ["Which date suits you?", None])
def test_a_message_of_an_unknown_type_is_a_placeholder(client, buyer, thread, body, author):
    message = say(buyer, thread, "Vote")
    cls = type(message)
    actions = [cls.type.set("poll"), cls.body.set(body) if body else cls.body.remove()]
    if author is None:
        actions.append(cls.author_id.remove())
    message.update(actions)
    client.force_login(buyer)
    page = client.get(f"/threads/{thread}/")
    assert page.status_code == 200
    shown = body or "This message can&#x27;t be shown here yet."
    text = page.content.decode().replace("&#39;", "&#x27;").replace("can't", "can&#x27;t")
    assert shown in text


def test_a_card_of_an_unknown_type_is_a_placeholder(client, buyer, thread):
    message = say(buyer, thread, "A card")
    set_on_message(message, type="action", action={"id": "x", "type": "poll", "state": "open"})
    client.force_login(buyer)
    page = client.get(f"/threads/{thread}/")
    assert page.status_code == 200
    assert "This can't be shown here yet." in page.content.decode()


def test_an_attachment_of_an_unknown_kind_is_a_placeholder(client, buyer, seller, thread):
    message = say(buyer, thread, "A file")
    cls = type(message)
    message.update([cls.body.remove(), cls.attachments.set([{"kind": "hologram"}])])
    client.force_login(seller)
    page = client.get(f"/threads/{thread}/")
    assert page.status_code == 200
    assert "be shown here yet" in page.content.decode()


def test_an_unknown_tab_survives_a_rebuild_of_the_others(buyer, seller):
    from projects.panel.rebuild import rebuild

    thread = start(buyer, seller)
    put(keys.thread_pk(thread), "TAB#budget", title="Budget")
    rebuild(thread)
    stored = connection().get_item(keys.thread_pk(thread), "TAB#budget")
    assert stored["Item"]["title"] == {"S": "Budget"}
