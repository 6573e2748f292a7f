"""Pages that a browser keeps: revalidated, never shown to another user, and valid when kept."""

import re

import pytest
from django.test import Client

from accounts.models import User
from core import fragments
from tests.contracts.card_helpers import propose
from tests.contracts.conftest import book
from tests.indexes import settle
from tests.threads.conftest import ask, make_person, messages_of, say, start
from threads.actions.revisions import set_reaction
from threads.dynamodb.store import count_requests

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def buyer() -> User:
    return make_person("Bea")


@pytest.fixture
def seller() -> User:
    return make_person("Sam")


@pytest.fixture
def thread(buyer, seller) -> str:
    thread = start(buyer, seller)
    say(seller, thread, "Gladly")
    settle()
    return thread


def client_of(user: User, **options) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def pages_of(thread: str) -> list[str]:
    first = messages_of(thread)[0].id
    return [
        "/inbox/",
        f"/threads/{thread}/",
        f"/threads/{thread}/messages/{first}/",
        f"/threads/{thread}/messages/?after={first}",
    ]


def field(page, name: str) -> str:
    return re.search(rf'name="{name}" value="([^"]*)"', page.content.decode())[1]


def test_an_unchanged_page_is_not_sent_again(thread, buyer):
    client = client_of(buyer)
    for path in pages_of(thread):
        page = client.get(path)
        assert page["Cache-Control"] == "private, no-cache"
        assert {"Cookie", "X-Fragment"} <= set(page["Vary"].split(", "))
        again = client.get(path, headers={"If-None-Match": page["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert (again["ETag"], again["Cache-Control"]) == (page["ETag"], "private, no-cache")


def test_rows_and_older_messages_are_not_sent_again(thread, buyer):
    client, first = client_of(buyer), messages_of(thread)[0].id
    for path in ("/inbox/rows/?folder=inbox", f"/threads/{thread}/messages/?after={first}"):
        whole = client.get(path)
        part = client.get(path, headers={"X-Fragment": "1"})
        assert whole["ETag"] != part["ETag"]
        headers = {"X-Fragment": "1", "If-None-Match": part["ETag"]}
        assert client.get(path, headers=headers).status_code == 304
        assert client.get(path, headers=headers | {"If-None-Match": whole["ETag"]}).content


def test_any_change_is_sent(thread, buyer, seller):
    client = client_of(buyer)
    paths = ("/inbox/", f"/threads/{thread}/")
    before = {path: client.get(path)["ETag"] for path in paths}
    say(seller, thread, "One more thing")
    settle()
    for path in paths:
        assert client.get(path, headers={"If-None-Match": before[path]}).status_code == 200
    etag = client.get(paths[1])["ETag"]
    newest = messages_of(thread)[-1].id
    set_reaction(seller, thread_id=thread, message_id=newest, reaction="👍", on=True)
    assert client.get(paths[1], headers={"If-None-Match": etag}).status_code == 200


def test_another_session_never_gets_a_kept_page(thread, buyer, seller):
    for path in pages_of(thread):
        client = client_of(buyer)
        headers = {"If-None-Match": client.get(path)["ETag"]}
        for other in (client_of(seller), client_of(buyer)):
            assert other.get(path, headers=headers).status_code == 200
        client.logout()
        assert client.get(path, headers=headers).status_code == 302
        stranger = client_of(make_person("Stig")).get(path, headers=headers)
        assert stranger.status_code == (200 if path == "/inbox/" else 404)
        assert b"Gladly" not in stranger.content


def test_the_token_of_a_kept_page_is_valid(thread, buyer):
    client, path = client_of(buyer, enforce_csrf_checks=True), f"/threads/{thread}/"
    page = client.get(path)
    assert client.get(path, headers={"If-None-Match": page["ETag"]}).status_code == 304
    names = ("csrfmiddlewaretoken", "client_id", "seen_seq")
    form = {name: field(page, name) for name in names} | {"body": "From a kept page"}
    assert client.post(f"{path}messages/", form).status_code == 302
    assert messages_of(thread)[-1].body == "From a kept page"


def test_another_text_from_the_same_kept_page_is_not_lost(thread, buyer):
    """Two tabs may have the same kept page, and so the same client id."""
    client, path = client_of(buyer), f"/threads/{thread}/"
    form = {"client_id": field(client.get(path), "client_id"), "seen_seq": 0}
    assert client.post(f"{path}messages/", form | {"body": "From one tab"}).status_code == 302
    refused = client.post(f"{path}messages/", form | {"body": "From the other"})
    assert refused.status_code == 409
    assert "From the other</textarea>" in refused.content.decode()
    form["client_id"] = field(refused, "client_id")
    assert client.post(f"{path}messages/", form | {"body": "From the other"}).status_code == 302
    bodies = [message.body for message in messages_of(thread)[-2:]]
    assert bodies == ["From one tab", "From the other"]


def test_no_slot_is_left_in_a_page(buyer, seller, thread):
    project = start(buyer, seller)
    propose("reschedule", book(project, buyer, seller), seller)
    request = ask(make_person("Rae"), buyer)
    client = client_of(buyer)
    paths = [*pages_of(thread), *pages_of(project), f"/threads/{request}/", "/inbox/requests/"]
    paths += [f"/threads/{project}/panel/actions/", "/inbox/keys/", "/inbox/search/?q=gladly"]
    for path in paths:
        page = client.get(path)
        assert page.status_code == 200, path
        assert fragments._SECRET not in page.content.decode(), path
    refused = client.post(f"/threads/{thread}/messages/", {"client_id": "x", "body": ""})
    assert fragments._SECRET not in refused.content.decode()


def test_a_narrow_screen_gets_a_thread_without_the_inbox(thread, buyer):
    client = client_of(buyer)
    client.cookies["layout"] = "narrow"
    with count_requests() as requests:
        page = client.get(f"/threads/{thread}/").content.decode()
    assert len(requests) == 1
    assert "data-rows" not in page
    assert 'href="/inbox/"' in page
    assert "data-rows" in client.get("/inbox/").content.decode()
    client.cookies["layout"] = "wide"
    assert "data-rows" in client.get(f"/threads/{thread}/").content.decode()


def test_signing_out_clears_what_the_browser_kept(thread, buyer):
    client = client_of(buyer)
    assert "Clear-Site-Data" not in client.get("/inbox/")
    assert client.post("/accounts/logout/")["Clear-Site-Data"] == '"cache"'
