"""The other server that we run on: what is promised of one is kept by both.

The same tests, with a site on uvicorn in the place of the one on daphne."""

import socket
from urllib.request import urlopen

import pytest

from tests.realtime import test_bodies, test_leaving, test_slow_readers, test_slow_requests
from tests.realtime.test_leaving import start  # noqa: F401
from tests.site import Site, prepared_site

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    found = prepared_site(tmp_path_factory.mktemp("uvicorn") / "data")
    found.env["PARLEY_SERVER"] = "uvicorn"
    return found


@pytest.fixture(scope="module")
def site(stores):
    stores.start()
    yield stores
    stores.stop()


@pytest.fixture(scope="module")
def slow_site(stores):
    site = Site(stores.folder, stores.env | test_slow_requests.FAST_LIMITS)
    site.start()
    yield site
    site.stop()


@pytest.fixture
def pair(site):
    return site.pair()


test_nothing_acknowledged_is_lost = pytest.mark.live(
    test_leaving.test_under_load_nothing_acknowledged_is_lost_and_the_rest_is_sent_once_elsewhere
)
test_says_that_it_is_leaving = pytest.mark.live(
    test_leaving.test_says_that_it_is_leaving_and_goes_on_answering_for_a_while
)
test_sockets_are_closed_one_after_the_other = (
    test_leaving.test_sockets_are_closed_one_after_the_other_over_that_time
)
test_a_request_on_its_way = test_leaving.test_a_request_that_is_on_its_way_gets_its_answer
test_without_anybody_there = test_leaving.test_without_anybody_there_it_ends_soon
test_told_twice = test_leaving.test_told_twice_it_ends_at_once
test_a_long_body = test_bodies.test_a_body_that_says_it_is_too_long_is_refused_at_once
test_an_endless_body = test_bodies.test_a_body_that_does_not_say_how_long_it_is_has_an_end_too
test_a_usual_body = test_bodies.test_what_is_within_the_limit_is_answered
test_dripping_headers = test_slow_requests.test_headers_that_drip_are_cut_off
test_a_dripping_body = test_slow_requests.test_a_body_that_drips_is_cut_off
test_a_dripping_second_request = (
    test_slow_requests.test_a_second_request_on_a_connection_is_timed_too
)
test_a_slow_body_at_the_rate = (
    test_slow_requests.test_a_body_that_keeps_the_rate_is_taken_however_long_it_takes
)
test_a_reader_who_sleeps = pytest.mark.live(
    test_slow_readers.test_a_reader_who_sleeps_is_dropped_and_finds_everything_when_it_is_back
)


def test_it_is_uvicorn_that_answers_and_says_only_our_own_name(site):
    with urlopen(f"{site.url}/healthz", timeout=10) as answer:
        assert answer.headers.get_all("Server") == ["parley"]
    host, port = site.address.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as link:
        link.sendall(b"NOT HTTP AT ALL\r\n\r\n")
        answer = b"".join(iter(lambda: link.recv(4096), b""))
    assert answer.endswith(b"Invalid HTTP request received.")


@pytest.mark.live
@pytest.mark.parametrize("size", [1, 125, 126, 65_000])
def test_frames_of_every_length_go_both_ways(site, pair, size):
    with site.connect(pair.buyer) as buyer, site.connect(pair.seller) as seller:
        body = "é" * min(size, 4000)
        buyer.send(pair.thread, body)
        assert seller.hear("message.sent")["body"] == body
        buyer.say("ping", t=1, padding="x" * min(size, 60_000))
        assert buyer.hear("pong", "error")["type"] in ("pong", "error")


def test_a_frame_that_is_too_long_is_refused(site, pair):
    with site.connect(pair.buyer) as buyer:
        buyer.send(pair.thread, "x" * 70_000)
        assert buyer.hear("error")["code"] == "BAD_FRAME"
        assert test_leaving.close_code(buyer) == 4413


def test_headers_have_an_end(site):
    answer = test_bodies.talk(site, b"GET /healthz HTTP/1.1\r\nX: ", *[b"x" * 65_536] * 8)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
    assert site.get("/healthz")[0] == 200


def test_whoever_is_not_signed_in_is_told_so(site):
    with site.connect(None) as nobody:
        assert test_leaving.close_code(nobody) == 4401
