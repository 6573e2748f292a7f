"""A pinned link to a remote image: shown as a link first, as an image once it was fetched."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from core.http_client import download
from core.refusals import Refusal
from files.models import File, OutsidePicture, TabUse
from files.remote_images import queue
from projects import remote_pins as fetcher
from projects.actions.panel import edit_tab
from projects.panel.rebuild import list_differences, rebuild
from projects.remote_pins import fetch_next
from tests.contracts.conftest import book
from tests.contracts.crash_points import list_steps, survives
from tests.contracts.test_panel_files import days_later, get, items, unpin
from tests.files.conftest import change_file_settings, kept, picture  # noqa: F401
from tests.files.corpus import HTML, SVG, long_bomb, pdf, png
from tests.files.fake_web import HOST, INSIDE, send
from tests.files.test_download import web  # noqa: F401
from tests.threads.checker import assert_consistent
from tests.threads.conftest import add_friend, make_person, start
from threads import cache
from threads.actions.participants import leave_thread
from threads.actions.staff import lock_thread, unlock_thread
from threads.cleanup import reconcile_files


def pin(user, thread, link, **more):
    fields = {"tab": "moodboard", "op": "add", "version": 0, "text": link} | more
    return edit_tab(user, thread_id=thread, **fields)


def fetch_all() -> int:
    """Fetches all due images, including every retry."""
    fetched = 0
    while OutsidePicture.objects.exists():
        OutsidePicture.objects.update(due_at=timezone.now())
        fetched += fetch_next()
    return fetched


def assert_stays_a_link(user, thread) -> None:
    (item,) = items(user, thread)
    assert "picture" not in item
    assert not OutsidePicture.objects.exists()
    assert not TabUse.objects.exists()


@pytest.mark.storage
def test_a_pin_is_a_link_first_and_an_image_once_fetched(
    leg, thread, buyer, seller, stranger, delivered, web  # noqa: F811
):  # fmt: skip
    add_friend(buyer, thread_id=thread, user=stranger)
    link = web.give("/Grey%20door.jpg", picture())
    pin(buyer, thread, link)
    (item,) = items(seller, thread)
    assert (item["link"], item["site"]) == (link, HOST)
    assert "picture" not in item
    assert web.asked == []
    delivered.clear()
    assert fetch_next()
    (item,) = items(seller, thread)
    file = File.objects.get()
    assert (item["link"], item["picture"]["id"], item["by"]) == (link, file.id, buyer.id)
    assert (file.owner, file.name, file.width) == (buyer, "Grey door.jpg", 640)
    (event,) = [e for e in delivered.to(seller, "panel.changed") if e["tab"] == "moodboard"]
    assert file.id in event["html"]
    assert f'href="{link}"' in event["html"]
    assert [get(user, file) for user in (buyer, seller, stranger)] == [200, 200, 404]
    assert not fetch_next()
    assert web.asked == ["/Grey%20door.jpg"]
    assert_consistent(thread)


@pytest.mark.storage
def test_a_link_pinned_twice_is_fetched_once(leg, thread, buyer, web):  # noqa: F811
    link = web.give("/a.jpg", picture())
    for _ in ("once", "again"):
        pin(buyer, thread, link, part="apin")
    fetch_all()
    pin(buyer, thread, link, part="apin")
    fetch_all()
    assert len(items(buyer, thread)) == File.objects.count() == 1
    assert web.asked == ["/a.jpg"]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html", lambda: HTML),
        ("image/jpeg", lambda: HTML),
        ("image/svg+xml", lambda: SVG),
        ("image/png", lambda: SVG),
        ("image/png", long_bomb),
        ("image/png", lambda: png(60_000, 60_000)),
        ("image/jpeg", lambda: picture()[:900]),
        ("image/jpeg", pdf),
        ("image/jpeg", lambda: b"Words"),
        ("image/jpeg", lambda: b""),
    ],
    ids=["page", "lie", "svg", "svg-lie", "bomb", "large-bomb", "cut", "pdf", "words", "nothing"],
)
def test_a_file_that_is_no_image_stays_a_link(kind, body, leg, thread, buyer, web):  # noqa: F811
    pin(buyer, thread, web.give("/a", body(), kind))
    assert fetch_all() == 1
    assert_stays_a_link(buyer, thread)
    assert not File.objects.exists()


def test_the_image_type_is_detected_from_content(leg, thread, buyer, web):  # noqa: F811
    pin(buyer, thread, web.give("/a.php", picture("PNG"), "application/octet-stream"))
    fetch_all()
    assert items(buyer, thread)[0]["picture"]["name"] == "a.jpg"


def test_a_missing_image_stays_a_link_and_is_not_retried(leg, thread, buyer, web):  # noqa: F811
    pin(buyer, thread, web.link("/missing.jpg"))
    assert fetch_all() == 1
    assert_stays_a_link(buyer, thread)


@pytest.mark.storage
def test_a_failed_fetch_is_tried_three_times(leg, thread, buyer, web):  # noqa: F811
    web.answers["/a.jpg"] = lambda to: send(to, 503, b"", {})
    pin(buyer, thread, web.link("/a.jpg"))
    assert fetch_next()
    assert not fetch_next()
    assert fetch_all() == 2
    assert web.asked == ["/a.jpg"] * 3
    assert_stays_a_link(buyer, thread)


def test_an_image_fetched_by_a_retry_is_shown(leg, thread, buyer, web):  # noqa: F811
    web.answers["/a.jpg"] = lambda to: send(to, 503, b"", {})
    pin(buyer, thread, web.link("/a.jpg"))
    assert fetch_next()
    web.give("/a.jpg", picture())
    fetch_all()
    assert items(buyer, thread)[0]["picture"]["width"] == 640


def test_internal_addresses_are_never_fetched(leg, thread, buyer, web):  # noqa: F811
    web.names["inside.example"] = [[INSIDE]]
    web.give("/a.jpg", picture())
    pin(buyer, thread, web.link("/a.jpg", "inside.example"))
    assert fetch_all() == 1
    assert_stays_a_link(buyer, thread)
    assert (web.asked, web.inside) == ([], [])


def test_links_with_another_scheme_or_port_are_not_queued(leg, thread, buyer, web):  # noqa: F811
    for link in ("http://pictures.example/a.jpg", "https://pictures.example:1/a.jpg"):
        pin(buyer, thread, link)
    assert not OutsidePicture.objects.exists()


def test_fetching_can_be_disabled(leg, thread, buyer, web, monkeypatch):  # noqa: F811
    monkeypatch.setattr(settings, "FETCH_PINS", False)
    pin(buyer, thread, web.give("/a.jpg", picture()))
    assert not OutsidePicture.objects.exists()


def test_a_refused_pin_is_not_queued(leg, thread, buyer, seller, stranger, web):  # noqa: F811
    link = web.give("/a.jpg", picture())
    with pytest.raises(Refusal, match="THREAD_NOT_FOUND"):
        pin(stranger, thread, link)
    with pytest.raises(Refusal, match="BAD_FRAME"):
        pin(buyer, thread, link, version=7)
    assert not OutsidePicture.objects.exists()


def test_a_user_cannot_set_the_fetched_image(leg, thread, buyer, web):  # noqa: F811
    link = web.give("/a.jpg", picture())
    pin(buyer, thread, link, part="apin")
    with pytest.raises(Refusal, match="PANEL_INVALID"):
        pin(buyer, thread, link, part="apin", op="picture", version=1)


def test_a_user_over_the_fetch_limit_only_gets_links(leg, thread, buyer, web, monkeypatch):  # noqa: F811
    monkeypatch.setattr(settings, "UPLOAD_LIMIT", 1)
    for path in ("/a.jpg", "/b.jpg"):
        pin(buyer, thread, web.give(path, picture()))
    fetch_all()
    assert [("picture" in item) for item in items(buyer, thread)] == [True, False]
    assert web.asked == ["/a.jpg"]


def test_a_caption_edited_during_the_fetch_is_kept(leg, thread, buyer, seller, web):  # noqa: F811
    version = pin(buyer, thread, web.give("/a.jpg", picture()), part="apin")
    fetch_all()
    pin(seller, thread, "This light", op="edit", part="apin", name="caption", version=version)
    (item,) = items(buyer, thread)
    assert (item["caption"], item["picture"]["width"]) == ("This light", 640)


def test_a_pin_removed_during_the_fetch_stays_removed(leg, thread, buyer, seller, web, monkeypatch):  # noqa: F811
    """The fetched image is not shown, and the cleanup removes it."""
    pin(buyer, thread, web.give("/a.jpg", picture()), part="apin")
    show = fetcher.show_fetched_image

    def unpin_then_show(*args, **fields):
        unpin(seller, thread, "apin")
        show(*args, **fields)

    monkeypatch.setattr(fetcher, "show_fetched_image", unpin_then_show)
    assert fetch_all() == 1
    assert items(buyer, thread) == []
    days_later(1)
    reconcile_files()
    assert not TabUse.objects.exists()


def test_another_pin_with_the_same_id_does_not_get_the_image(leg, thread, buyer, web, monkeypatch):  # noqa: F811
    pin(buyer, thread, web.give("/a.jpg", picture()), part="apin")
    show = fetcher.show_fetched_image

    def replace_then_show(*args, **fields):
        unpin(buyer, thread, "apin")
        pin(buyer, thread, "http://pictures.example/b.jpg", part="apin")
        show(*args, **fields)

    monkeypatch.setattr(fetcher, "show_fetched_image", replace_then_show)
    fetch_all()
    (item,) = items(buyer, thread)
    assert "picture" not in item


def test_an_image_is_hidden_with_its_pin_and_by_safe_mode(leg, thread, buyer, seller, web):  # noqa: F811
    pin(buyer, thread, web.give("/a.jpg", picture()), part="apin")
    fetch_all()
    file = File.objects.get()
    File.objects.update(band=2)
    assert get(seller, file) == 403
    unpin(seller, thread, "apin")
    assert get(buyer, file) == 404
    assert File.objects.get().released_at


def test_in_a_locked_thread_the_image_is_shown_later(leg, thread, buyer, seller, web):  # noqa: F811
    pin(buyer, thread, web.give("/a.jpg", picture()))
    lock_thread(thread_id=thread, reason="A look")
    assert fetch_next()
    assert "picture" not in items(seller, thread)[0]
    unlock_thread(thread_id=thread)
    fetch_all()
    assert "picture" in items(seller, thread)[0]
    assert web.asked == ["/a.jpg"]


def test_a_pin_of_a_user_who_left_stays_a_link(leg, thread, buyer, seller, web):  # noqa: F811
    pin(buyer, thread, web.give("/a.jpg", picture()))
    leave_thread(buyer, thread_id=thread)
    assert fetch_all() == 1
    assert "picture" not in items(seller, thread)[0]


def test_rebuilt_tabs_keep_the_image(leg, thread, buyer, seller, web):  # noqa: F811
    pin(buyer, thread, web.give("/a.jpg", picture()))
    fetch_all()
    before = items(buyer, thread)
    assert rebuild(thread)
    assert items(buyer, thread) == before
    assert list(list_differences(thread)) == []


@pytest.mark.storage
def test_only_one_of_two_servers_fetches(leg, thread, buyer, web):  # noqa: F811
    pin(buyer, thread, web.give("/a.jpg", picture()))
    assert queue.claim_image()
    assert queue.claim_image() is None
    OutsidePicture.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    assert queue.claim_image().attempts == 2


@pytest.mark.storage
@pytest.mark.django_db(transaction=True)
def test_killed_at_every_step_an_image_is_shown_once(web, kept, monkeypatch):  # noqa: F811
    """Another process continues where pinning or fetching was interrupted."""
    monkeypatch.setattr(download, "RULES", web.rules())
    link = web.give("/a.jpg", picture(size=(32, 32)))
    for step in list_steps():
        buyer, seller = make_person("Bea"), make_person("Sam")
        thread = start(buyer, seller)
        book(thread, buyer, seller)

        def act(buyer=buyer, thread=thread):
            pin(buyer, thread, link, part="apin")
            fetch_next()

        is_done = survives(step, act)
        cache.invalidate(thread)
        pin(buyer, thread, link, part="apin")
        fetch_all()
        (item,) = items(buyer, thread)
        file = File.objects.get(thread_id=thread)
        assert item["picture"]["id"] == file.id
        assert TabUse.objects.filter(file=file, part="apin").exclude(settled_at=None).count() == 1
        assert get(seller, file) == 200
        assert list(list_differences(thread)) == []
        if is_done:
            assert step > 4
            return
    pytest.fail("the action never completed")
