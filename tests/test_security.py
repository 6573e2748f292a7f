"""What every answer carries, and what no page contains: the settings of a deployment, headers,
cookies, scripts."""

import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from tests.test_access import BACKEND
from tests.threads.conftest import make_person, start

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
# What runs, or looks as if it ran, in the page itself.
INLINE = {
    "a script without an address": re.compile(r"<script(?![^>]*\bsrc=)", re.IGNORECASE),
    "a style": re.compile(r"<style|\sstyle=", re.IGNORECASE),
    "a handler": re.compile(r"<[^>]*\son[a-z]+\s*=", re.IGNORECASE),
    "a script as an address": re.compile(r"javascript:", re.IGNORECASE),
    "something from elsewhere": re.compile(r'(?:src|<link[^>]*href)="https?:', re.IGNORECASE),
}


def deployed(**more: str) -> dict[str, str]:
    """With all that makes it a deployment; none of the stores has to answer for this."""
    plain = {name: os.environ[name] for name in ("PATH", "PARLEY_DATA")}
    return plain | {
        "DJANGO_SETTINGS_MODULE": "messaging_site.settings",
        "SECRET_KEY": secrets.token_urlsafe(64),
        "DATABASE_URL": "postgres://parley@127.0.0.1:1/parley",
        "ALLOWED_HOSTS": "parley.example",
        **more,
    }


def manage(*command: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=env, capture_output=True, text=True
    )


def test_a_deployment_passes_every_check_of_django():
    done = manage("check", "--deploy", "--fail-level", "DEBUG", env=deployed())
    assert (done.returncode, done.stderr) == (0, "")
    assert "no issues (0 silenced)" in done.stdout


def test_and_the_check_can_fail():
    done = manage("check", "--deploy", "--fail-level", "DEBUG", env=deployed(PARLEY_HTTPS="0"))
    assert done.returncode != 0
    assert "security.W012" in done.stderr


COOKIES = """
from django.conf import settings
for name in ("SESSION_COOKIE", "CSRF_COOKIE"):
    print(name, *(getattr(settings, f"{name}_{what}") for what in ("SECURE", "SAMESITE")))
print(settings.SESSION_COOKIE_HTTPONLY, settings.SECURE_HSTS_SECONDS)
"""


def test_cookies_of_a_deployment_go_by_https_to_us_alone():
    done = manage("shell", "-v", "0", "-c", COOKIES, env=deployed())
    assert done.stdout.splitlines() == [
        "SESSION_COOKIE True Lax",
        "CSRF_COOKIE True Lax",
        "True 31536000",
    ]


# --- Headers


@pytest.fixture
def pages(db):
    buyer, seller = make_person("Bea"), make_person("Sam")
    thread = start(buyer, seller)
    client = Client()
    client.force_login(buyer, backend=BACKEND)
    json = {"headers": {"Accept": "application/json"}}
    return {
        "an open page": Client().get("/"),
        "signing in": Client().get(reverse("account_login")),
        "a conversation": client.get(reverse("threads:thread", args=[thread])),
        "nothing there": client.get("/nowhere/"),
        "a refusal": client.get("/threads/thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ/", **json),
        "the admin": client.get("/admin/"),
        "health": Client().get("/healthz"),
    }


def test_every_answer_has_every_header(pages):
    for name, answer in pages.items():
        policy = directives(answer["Content-Security-Policy"])
        assert policy["default-src"] == ["'none'"], name
        assert policy["script-src"] == policy["style-src"] == ["'self'"], name
        assert policy["frame-ancestors"] == policy["base-uri"] == ["'none'"], name
        assert policy["form-action"] == ["'self'"], name
        assert not [one for one in str(policy).split() if "unsafe" in one or "*" in one], name
        assert answer["X-Frame-Options"] == "DENY", name
        assert answer["X-Content-Type-Options"] == "nosniff", name
        assert answer["Referrer-Policy"] == "same-origin", name
        assert answer["Cross-Origin-Opener-Policy"] == "same-origin", name
        assert "camera=()" in answer["Permissions-Policy"], name
        assert answer["X-Correlation-Id"], name


def directives(policy: str) -> dict[str, list[str]]:
    parts = [one.split() for one in policy.split(";") if one.strip()]
    return {name: values for name, *values in parts}


# --- Pages


@pytest.mark.parametrize("what", INLINE)
def test_no_template_has_anything_inline(what):
    """So that the policy needs neither exceptions nor nonces: what is inline never runs."""
    found = [
        str(path.relative_to(ROOT))
        for path in TEMPLATES
        if INLINE[what].search(re.sub(r"\{#.*?#\}|\{%.*?%\}", "", path.read_text()))
    ]
    assert found == []


@pytest.mark.parametrize("what", INLINE)
def test_what_is_looked_for_would_be_found(what):
    samples = "<script>1</script><p style='a' ><a onclick=1 href='javascript:1'><script src=\"https://a\">"
    assert INLINE[what].search(samples)
