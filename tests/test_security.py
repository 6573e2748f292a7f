"""Security settings of a deployment, response headers, cookies, and no inline scripts."""

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
# Inline scripts, styles and handlers.
INLINE = {
    "a script without an address": re.compile(r"<script(?![^>]*\bsrc=)", re.IGNORECASE),
    "a style": re.compile(r"<style|\sstyle=", re.IGNORECASE),
    "a handler": re.compile(r"<[^>]*\son[a-z]+\s*=", re.IGNORECASE),
    "a script as an address": re.compile(r"javascript:", re.IGNORECASE),
    "something from elsewhere": re.compile(r'(?:src|<link[^>]*href)="https?:', re.IGNORECASE),
}


def deployment_env(**more: str) -> dict[str, str]:
    """The environment of a deployment; the stores need not be reachable."""
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
    done = manage("check", "--deploy", "--fail-level", "DEBUG", env=deployment_env())
    assert (done.returncode, done.stderr) == (0, "")
    assert "no issues (0 silenced)" in done.stdout


def test_the_deployment_check_can_fail():
    done = manage(
        "check", "--deploy", "--fail-level", "DEBUG", env=deployment_env(PARLEY_HTTPS="0")
    )
    assert done.returncode != 0
    assert "security.W012" in done.stderr


COOKIES = """
from django.conf import settings
for name in ("SESSION_COOKIE", "CSRF_COOKIE"):
    print(name, *(getattr(settings, f"{name}_{what}") for what in ("SECURE", "SAMESITE")))
print(settings.SESSION_COOKIE_HTTPONLY, settings.SECURE_HSTS_SECONDS)
"""


def test_cookies_of_a_deployment_are_secure_and_same_site():
    done = manage("shell", "-v", "0", "-c", COOKIES, env=deployment_env())
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


def test_every_response_has_every_security_header(pages):
    for name, response in pages.items():
        policy = directives(response["Content-Security-Policy"])
        assert policy["default-src"] == ["'none'"], name
        assert policy["script-src"] == policy["style-src"] == ["'self'"], name
        assert policy["frame-ancestors"] == policy["base-uri"] == ["'none'"], name
        assert policy["form-action"] == ["'self'"], name
        assert not [one for one in str(policy).split() if "unsafe" in one or "*" in one], name
        assert response["X-Frame-Options"] == "DENY", name
        assert response["X-Content-Type-Options"] == "nosniff", name
        assert response["Referrer-Policy"] == "same-origin", name
        assert response["Cross-Origin-Opener-Policy"] == "same-origin", name
        assert "camera=()" in response["Permissions-Policy"], name
        assert response["X-Correlation-Id"], name


def directives(policy: str) -> dict[str, list[str]]:
    parts = [one.split() for one in policy.split(";") if one.strip()]
    return {name: values for name, *values in parts}


# --- Pages


@pytest.mark.parametrize("what", INLINE)
def test_no_template_has_anything_inline(what):
    """The content policy needs neither exceptions nor nonces, since nothing is inline."""
    found = [
        str(path.relative_to(ROOT))
        for path in TEMPLATES
        if INLINE[what].search(re.sub(r"\{#.*?#\}|\{%.*?%\}", "", path.read_text()))
    ]
    assert found == []


@pytest.mark.parametrize("what", INLINE)
def test_every_inline_pattern_finds_its_sample(what):
    samples = "<script>1</script><p style='a' ><a onclick=1 href='javascript:1'><script src=\"https://a\">"
    assert INLINE[what].search(samples)
