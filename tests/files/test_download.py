"""Downloading a remote image: allowed addresses, redirects, size and time limits."""

import time

import pytest

from core.http_client import download
from core.http_client.addresses import is_public
from core.http_client.download import DownloadFailed, DownloadRules, is_downloadable
from files.remote_images.download import download_image
from tests.files.conftest import change_file_settings, picture
from tests.files.fake_web import HOST, INSIDE, OUTSIDE, Web, drip, send


@pytest.fixture
def web(tmp_path, monkeypatch):
    with Web(tmp_path).serving() as web:
        monkeypatch.setattr(download, "RULES", web.rules())
        yield web


def download_error(link, tmp_path) -> DownloadFailed:
    with pytest.raises(DownloadFailed) as error:
        download_image(link, tmp_path / "download")
    return error.value


# --- Addresses


@pytest.mark.parametrize(
    "address",
    [
        # Private networks, and the metadata services of clouds.
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1",
        "169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254",
        "100.64.0.1", "198.18.0.1", "192.0.2.1", "203.0.113.9", "192.88.99.1", "240.0.0.1",
        "224.0.0.1", "255.255.255.255",
        "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fec0::1", "ff02::1", "2001:db8::1",
        "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808",
        "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "", "localhost", "1.2.3", "010.0.0.1", "8.8.8.8\n",
    ],
)  # fmt: skip
def test_an_address_that_is_not_public_is_refused(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.215.14", "1.1.1.1", "2606:4700::1111"])
def test_a_public_address_is_allowed(address):
    assert is_public(address)


def test_the_default_rules_exempt_no_address():
    rules = DownloadRules()
    assert (rules.port, rules.exempt, rules.resolve) == (443, frozenset(), download.resolve)
    assert rules.trust().check_hostname
    assert DownloadRules() == download.RULES


@pytest.mark.parametrize(
    "link",
    [
        "http://pictures.example/a.jpg", "ftp://pictures.example/a.jpg", "file:///etc/passwd",
        "https://", "https:///a.jpg", "//a/b", "https://pictures.example:8443/a.jpg",
        "https://pictures.example:x/", "https://me@pictures.example/a.jpg",
        "https://me:secret@pictures.example/a.jpg",
        "https://pictures example/a.jpg", "https://a\x00b.example/", "https://pictures.example/\x00",
        "https://pictures.example/\r\nHost: inside", "https://[::1%25eth0]/", "https://.example/",
    ],
)  # fmt: skip
def test_other_links_are_not_downloadable(link):
    assert not is_downloadable(link)


def test_plain_https_links_are_downloadable():
    for link in (
        "https://pictures.example/a.jpg?width=3#top",
        "https://bücher.example/Grüße an alle.jpg",
        "https://[2606:4700::1111]:443/a",
    ):
        assert is_downloadable(link)


@pytest.mark.parametrize(
    "link",
    [
        "https://127.0.0.1/", "https://localhost/", "https://2130706433/", "https://0x7f.1/",
        "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://169.254.169.254/latest/meta-data/",
    ],
)  # fmt: skip
def test_internal_names_are_refused_with_the_real_resolver(link, tmp_path):
    """Uses the default rules without any replacement."""
    assert str(download_error(link, tmp_path)) == "address"


# --- Downloading


def test_a_download_sends_no_identifying_headers_and_uses_no_proxy(web, tmp_path, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    download_image(web.give("/a%20b.jpg?w=1", picture()), tmp_path / "download")
    assert (tmp_path / "download").read_bytes() == picture()
    assert web.headers == [
        {
            "Host": HOST,
            "User-Agent": "Parley",
            "Accept": "image/*",
            "Accept-Encoding": "identity",
            "Connection": "close",
        }
    ]


def test_a_chunked_response_is_read_to_its_end(web, tmp_path):
    def in_chunks(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in (b"one ", b"two"):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        handler.wfile.write(b"0\r\n\r\n")

    web.answers["/chunks"] = in_chunks
    download_image(web.link("/chunks"), tmp_path / "download")
    assert (tmp_path / "download").read_bytes() == b"one two"


def test_a_host_is_resolved_once_and_that_address_is_used(web, tmp_path):
    """A second answer with an internal address (DNS rebinding) has no effect."""
    web.names[HOST] = [[OUTSIDE], [INSIDE]]
    download_image(web.give("/a.jpg", picture()), tmp_path / "download")
    assert web.resolved == [HOST]
    assert (web.asked, web.inside) == (["/a.jpg"], [])


def test_one_internal_address_among_public_ones_is_refused(web, tmp_path):
    web.names[HOST] = [[OUTSIDE, INSIDE]]
    assert str(download_error(web.give("/a.jpg", picture()), tmp_path)) == "address"
    assert (web.asked, web.inside) == ([], [])


def test_an_unreachable_address_is_skipped(web, tmp_path, monkeypatch):
    web.names[HOST] = [["127.0.0.3", OUTSIDE]]
    exempt = frozenset({"127.0.0.3", OUTSIDE})
    monkeypatch.setattr(download, "RULES", web.rules(exempt=exempt))
    download_image(web.give("/a.jpg", picture()), tmp_path / "download")
    assert web.asked == ["/a.jpg"]


def test_at_most_three_redirects_are_followed(web, tmp_path):
    web.give("/end.jpg", picture())
    web.redirect("/3", "end.jpg", 308)
    web.redirect("/2", web.link("/3"), 307)
    web.redirect("/1", "/2", 301)
    download_image(web.link("/1"), tmp_path / "download")
    assert web.asked == ["/1", "/2", "/3", "/end.jpg"]
    assert str(download_error(web.redirect("/0", "/1"), tmp_path)) == "redirects"
    assert web.asked[4:] == ["/0", "/1", "/2", "/3"]


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("https://169.254.169.254:{port}/latest/meta-data/", "address"),
        (f"https://{INSIDE}:{{port}}/a.jpg", "address"),
        ("https://inside.example:{port}/a.jpg", "address"),
        ("http://elsewhere.example:{port}/a.jpg", "address"),
        ("https://elsewhere.example:22/a.jpg", "port"),
        ("file:///etc/passwd", "address"),
        ("https://me:secret@elsewhere.example:{port}/a.jpg", "address"),
    ],
)
def test_redirects_are_checked_like_links(location, why, web, tmp_path):
    web.names |= {
        "inside.example": [[INSIDE]],
        "elsewhere.example": [[OUTSIDE]],
        "169.254.169.254": [["169.254.169.254"]],
        INSIDE: [[INSIDE]],
    }
    web.give("/a.jpg", picture())
    error = download_error(web.redirect("/go", location.format(port=web.port)), tmp_path)
    assert (str(error), error.is_permanent) == (why, True)
    assert (web.asked, web.inside) == (["/go"], [])


def test_a_redirect_to_a_host_that_now_resolves_internally_is_refused(web, tmp_path):
    web.names[HOST] = [[OUTSIDE], [INSIDE]]
    web.give("/a.jpg", picture())
    assert str(download_error(web.redirect("/go", "/a.jpg"), tmp_path)) == "address"
    assert web.inside == []


def test_the_certificate_has_to_match_the_host(web, tmp_path):
    web.names["other.example"] = [[OUTSIDE]]
    web.give("/a.jpg", picture())
    error = download_error(web.link("/a.jpg", "other.example"), tmp_path)
    assert (str(error), error.is_permanent, web.asked) == ("certificate", True, [])


# --- Limits


@pytest.mark.parametrize(
    "answer",
    [
        drip(b"X", head=b""),
        drip(b"X-More: again\r\n", head=b"HTTP/1.1 200 OK\r\n"),
        drip(b"HTTP/1.1 100 Continue\r\n\r\n"),
        drip(b"x", head=b"HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\n\r\n"),
        drip(b"1\r\nx\r\n", head=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ],
    ids=["a status", "headers", "patience", "a body", "chunks"],
)
def test_a_slow_response_times_out(answer, web, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "RULES", web.rules(seconds=1.0))
    web.answers["/slow"] = answer
    began = time.monotonic()
    error = download_error(web.link("/slow"), tmp_path)
    # Without the timeout the response takes longer; a busy machine may exceed one second.
    assert time.monotonic() - began < 15
    assert (str(error), error.is_permanent) in {("TimeoutError", False), ("HTTPException", True)}


def test_a_response_with_a_too_large_content_length_is_not_read(web, tmp_path, monkeypatch):
    change_file_settings(monkeypatch, most_bytes=1000)
    link = web.give("/a.jpg", b"x", **{"Content-Length": "1001"})
    assert str(download_error(link, tmp_path)) == "size"
    assert not (tmp_path / "download").exists()


def test_a_response_without_a_length_is_read_up_to_the_limit(web, tmp_path, monkeypatch):
    change_file_settings(monkeypatch, most_bytes=100_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n"
    web.answers["/endless"] = drip(b"x" * 50_000, every=0, head=head)
    error = download_error(web.link("/endless"), tmp_path)
    assert (str(error), error.is_permanent) == ("size", True)
    assert (tmp_path / "download").stat().st_size <= 100_000


@pytest.mark.parametrize(
    ("status", "is_permanent"), [(404, True), (403, True), (206, True), (500, False), (429, False)]
)
def test_server_errors_are_retried_and_client_errors_are_not(status, is_permanent, web, tmp_path):
    web.answers["/a"] = lambda to: send(to, status, picture(), {"Content-Type": "image/jpeg"})
    error = download_error(web.link("/a"), tmp_path)
    assert (str(error), error.is_permanent) == (f"status {status}", is_permanent)


def test_other_content_types_and_encodings_are_refused(web, tmp_path):
    for kind in ("text/html", "video/mp4", "application/json"):
        assert str(download_error(web.give("/a", b"x" * 9, kind), tmp_path)) == "type"
    compressed = web.give("/b", b"x" * 9, **{"Content-Encoding": "gzip"})
    assert str(download_error(compressed, tmp_path)) == "encoding"
    assert not (tmp_path / "download").exists()


def test_an_incomplete_response_is_not_a_permanent_failure(web, tmp_path):
    link = web.give("/a.jpg", b"half", **{"Content-Length": "800"})
    error = download_error(link, tmp_path)
    assert (str(error), error.is_permanent) == ("cut off", False)


def test_an_unknown_host_is_not_a_permanent_failure(web, tmp_path):
    assert not download_error(web.link("/a.jpg", "nobody.example"), tmp_path).is_permanent
