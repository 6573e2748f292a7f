"""What every template may ask for."""

from django.conf import settings
from django.http import HttpRequest


def site(request: HttpRequest) -> dict[str, object]:
    return {"EMBEDDED": settings.EMBEDDED, "DEBUG": settings.DEBUG}
