"""Handles: the user names in /people/<handle>/."""

import re
import unicodedata

from django.core.exceptions import ValidationError

MAX_HANDLE_CHARS = 30
HANDLE_TAKEN = "This handle is taken."
_SHAPE = re.compile(r"[a-z0-9][a-z0-9-]{1,28}[a-z0-9]")

# Names that could impersonate the service or its staff, or collide with future URLs.
# fmt: off
RESERVED = frozenset({
    "about", "abuse", "account", "accounts", "admin", "administrator", "all", "anonymous", "api",
    "billing", "block", "blog", "contact", "contracts", "deleted", "edit", "everyone", "files",
    "healthz", "help", "inbox", "info", "legal", "login", "logout", "mail", "me", "message",
    "messages", "moderation", "moderator", "new", "news", "nobody", "noreply", "no-reply", "null",
    "official", "parley", "password", "payments", "people", "privacy", "profile", "readyz",
    "report", "root", "safety", "security", "self", "settings", "signin", "signout", "signup",
    "staff", "start", "static", "status", "styleguide", "support", "system", "team", "terms",
    "threads", "trust", "undefined", "user", "users", "webmaster",
})
# fmt: on


def check_handle(handle: str) -> None:
    if not _SHAPE.fullmatch(handle):
        raise ValidationError("Use 3 to 30 lowercase letters, digits and hyphens.", code="shape")
    if handle in RESERVED:
        raise ValidationError(HANDLE_TAKEN, code="reserved")


def handle_from_name(name: str) -> str:
    """A valid handle derived from a name: "Zoë Müller" becomes zoe-muller."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    handle = (
        re.sub(r"[^a-z0-9]+", "-", letters.replace("'", ""))
        .strip("-")[:MAX_HANDLE_CHARS]
        .strip("-")
    )
    if not handle or handle in RESERVED:
        return "person"
    return handle if is_handle(handle) else with_number(handle, 1)


def is_handle(text: str) -> bool:
    try:
        check_handle(text)
    except ValidationError:
        return False
    return True


def with_number(handle: str, number: int) -> str:
    tail = f"-{number}"
    return handle[: MAX_HANDLE_CHARS - len(tail)].rstrip("-") + tail
