"""A pin with a picture from elsewhere: a link at once, the picture when it was fetched."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from core.refusals import Refusal
from files.models import File, OutsidePicture, TabUse
from files.remote_images import download, queue
from projects import remote_pins as fetcher
from projects.actions.panel import edit_tab
from projects.panel.rebuild import list_differences, rebuild
from projects.remote_pins import fetch_next
from tests.contracts.conftest import book
from tests.contracts.crash_points import survives
from tests.contracts.test_panel_files import days_later, get, items, unpin
from tests.files.conftest import kept, limit, picture  # noqa: F401
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
    """Now, and what is to be tried again, as often as that is."""
    fetched = 0
    while OutsidePicture.objects.exists():
        OutsidePicture.objects.update(due_at=timezone.now())
        fetched += fetch_next()
    return fetched


def stays_a_link(user, thread) -> None:
    (item,) = items(user, thread)
    assert "picture" not in item
    assert not OutsidePicture.objects.exists()
    assert not TabUse.objects.exists()


@pytest.mark.storage
def test_a_link_at_once_and_its_picture_for_both_when_it_came(
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
    (told,) = [e for e in delivered.to(seller, "panel.changed") if e["tab"] == "moodboard"]
    assert file.id in told["html"]
    assert f'href="{link}"' in told["html"]
    assert [get(user, file) for user in (buyer, seller, stranger)] == [200, 200, 404]
    assert not fetch_next()
    assert web.asked == ["/Grey%20door.jpg"]
    assert_consistent(thread)


@pytest.mark.storage
def test_what_was_pinned_twice_is_fetched_once(leg, thread, buyer, web):  # noqa: F811
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
def test_what_is_no_picture_stays_a_link(kind, body, leg, thread, buyer, web):  # noqa: F811
    pin(buyer, thread, web.give("/a", body(), kind))
    assert fetch_all() == 1
    stays_a_link(buyer, thread)
    assert not File.objects.exists()


def test_a_picture_may_be_called_something_else(leg, thread, buyer, web):  # noqa: F811
    pin(buyer, thread, web.give("/a.php", picture("PNG"), "application/octet-stream"))
    fetch_all()
    assert items(buyer, thread)[0]["picture"]["name"] == "a.jpg"


def test_what_is_not_there_stays_a_link_and_is_not_asked_for_again(leg, thread, buyer, web):  # noqa: F811
    pin(buyer, thread, web.link("/missing.jpg"))
    assert fetch_all() == 1
    stays_a_link(buyer, thread)


@pytest.mark.storage
def test_what_fails_is_tried_three_times(leg, thread, buyer, web):  # noqa: F811
    web.answers["/a.jpg"] = lambda to: send(to, 503, b"", {})
    pin(buyer, thread, web.link("/a.jpg"))
    assert fetch_next()
    assert not fetch_next()
    assert fetch_all() == 2
    assert web.asked == ["/a.jpg"] * 3
    stays_a_link(buyer, thread)


def test_what_comes_at_the_second_attempt_is_shown(leg, thread, buyer, web):  # noqa: F811
    web.answers["/a.jpg"] = lambda to: send(to, 503, b"", {})
    pin(buyer, thread, web.link("/a.jpg"))
    assert fetch_next()
    web.give("/a.jpg", picture())
    fetch_all()
    assert items(buyer, thread)[0]["picture"]["width"] == 640


def test_nobody_is_led_inside(leg, thread, buyer, web):  # noqa: F811
    web.names["inside.example"] = [[INSIDE]]
    web.give("/a.jpg", picture())
    pin(buyer, thread, web.link("/a.jpg", "inside.example"))
    assert fetch_all() == 1
    stays_a_link(buyer, thread)
    assert (web.asked, web.inside) == ([], [])


def test_other_links_are_not_even_waited_for(leg, thread, buyer, web):  # noqa: F811
    for link in ("http://pictures.example/a.jpg", "https://pictures.example:1/a.jpg"):
        pin(buyer, thread, link)
    assert not OutsidePicture.objects.exists()


def test_it_can_be_turned_off(leg, thread, buyer, web, monkeypatch):  # noqa: F811
    monkeypatch.setattr(settings, "FETCH_PINS", False)
    pin(buyer, thread, web.give("/a.jpg", picture()))
    assert not OutsidePicture.objects.exists()


def test_a_pin_that_was_refused_waits_for_nothing(leg, thread, buyer, seller, stranger, web):  # noqa: F811
    link = web.give("/a.jpg", picture())
    with pytest.raises(Refusal, match="THREAD_NOT_FOUND"):
        pin(stranger, thread, link)
    with pytest.raises(Refusal, match="BAD_FRAME"):
        pin(buyer, thread, link, version=7)
    assert not OutsidePicture.objects.exists()


def test_nobody_says_by_hand_what_a_link_led_to(leg, thread, buyer, web):  # noqa: F811
    link = web.give("/a.jpg", picture())
    pin(buyer, thread, link, part="apin")
    with pytest.raises(Refusal, match="PANEL_INVALID"):
        pin(buyer, thread, link, part="apin", op="picture", version=1)


def test_who_fetches_without_end_has_links_from_then_on(leg, thread, buyer, web, monkeypatch):  # noqa: F811
    monkeypatch.setattr(settings, "UPLOAD_LIMIT", 1)
    for path in ("/a.jpg", "/b.jpg"):
        pin(buyer, thread, web.give(path, picture()))
    fetch_all()
    assert [("picture" in item) for item in items(buyer, thread)] == [True, False]
    assert web.asked == ["/a.jpg"]


def test_a_caption_that_somebody_writes_meanwhile_is_kept(leg, thread, buyer, seller, web):  # noqa: F811
    version = pin(buyer, thread, web.give("/a.jpg", picture()), part="apin")
    fetch_all()
    pin(seller, thread, "This light", op="edit", part="apin", name="caption", version=version)
    (item,) = items(buyer, thread)
    assert (item["caption"], item["picture"]["width"]) == ("This light", 640)


def test_a_pin_that_went_meanwhile_stays_gone(leg, thread, buyer, seller, web, monkeypatch):  # noqa: F811
    """Removed while its picture is on the way: nothing shows it, and the sweeper takes it."""
    pin(buyer, thread, web.give("/a.jpg", picture()), part="apin")
    show = fetcher.show_fetched_image

    def too_late(*args, **fields):
        unpin(seller, thread, "apin")
        show(*args, **fields)

    monkeypatch.setattr(fetcher, "show_fetched_image", too_late)
    assert fetch_all() == 1
    assert items(buyer, thread) == []
    days_later(1)
    reconcile_files()
    assert not TabUse.objects.exists()


def test_another_pin_by_the_same_name_does_not_get_it(leg, thread, buyer, web, monkeypatch):  # noqa: F811
    pin(buyer, thread, web.give("/a.jpg", picture()), part="apin")
    show = fetcher.show_fetched_image

    def replaced(*args, **fields):
        unpin(buyer, thread, "apin")
        pin(buyer, thread, "http://pictures.example/b.jpg", part="apin")
        show(*args, **fields)

    monkeypatch.setattr(fetcher, "show_fetched_image", replaced)
    fetch_all()
    (item,) = items(buyer, thread)
    assert "picture" not in item


def test_a_picture_goes_with_its_pin_and_with_safe_mode(leg, thread, buyer, seller, web):  # noqa: F811
    pin(buyer, thread, web.give("/a.jpg", picture()), part="apin")
    fetch_all()
    file = File.objects.get()
    File.objects.update(band=2)
    assert get(seller, file) == 403
    unpin(seller, thread, "apin")
    assert get(buyer, file) == 404
    assert File.objects.get().released_at


def test_where_nobody_may_write_the_picture_waits(leg, thread, buyer, seller, web):  # noqa: F811
    pin(buyer, thread, web.give("/a.jpg", picture()))
    lock_thread(thread_id=thread, reason="A look")
    assert fetch_next()
    assert "picture" not in items(seller, thread)[0]
    unlock_thread(thread_id=thread)
    fetch_all()
    assert "picture" in items(seller, thread)[0]
    assert web.asked == ["/a.jpg"]


def test_what_somebody_pinned_who_has_left_stays_a_link(leg, thread, buyer, seller, web):  # noqa: F811
    pin(buyer, thread, web.give("/a.jpg", picture()))
    leave_thread(buyer, thread_id=thread)
    assert fetch_all() == 1
    assert "picture" not in items(seller, thread)[0]


def test_it_is_the_same_when_it_is_made_again(leg, thread, buyer, seller, web):  # noqa: F811
    pin(buyer, thread, web.give("/a.jpg", picture()))
    fetch_all()
    before = items(buyer, thread)
    assert rebuild(thread)
    assert items(buyer, thread) == before
    assert list(list_differences(thread)) == []


@pytest.mark.storage
def test_of_two_servers_one_fetches(leg, thread, buyer, web):  # noqa: F811
    pin(buyer, thread, web.give("/a.jpg", picture()))
    assert queue.claim_image()
    assert queue.claim_image() is None
    OutsidePicture.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    assert queue.claim_image().attempts == 2


@pytest.mark.storage
@pytest.mark.django_db(transaction=True)
def test_killed_at_every_step_it_comes_once(web, kept, monkeypatch):  # noqa: F811
    """Of pinning and of fetching: somebody else goes on where it was left."""
    monkeypatch.setattr(download, "RULES", web.rules())
    link = web.give("/a.jpg", picture(size=(32, 32)))
    for step in range(1, 40):
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
    pytest.fail("it never came to an end")
