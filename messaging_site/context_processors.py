"""What every template may ask for."""

from django.conf import settings
from django.http import HttpRequest

THEMES = ("light", "dark")


def site(request: HttpRequest) -> dict[str, object]:
    theme = request.COOKIES.get("theme", "")
    return {"EMBEDDED": settings.EMBEDDED, "theme": theme if theme in THEMES else "system"}
