"""What the seeding commands share: they write only into stores that are the installation's own."""

import ipaddress
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from demo.history import HistoryConflict
from threads.dynamodb.store import StoreUnavailable


class SeedCommand(BaseCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--force",
            action="store_true",
            help="write into these stores even if they are not the embedded ones",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not (options["force"] or are_embedded()):
            raise CommandError(
                "These are not the embedded stores, so nothing was written: "
                "add --force if they are meant."
            )
        try:
            self.seed(**options)
        except HistoryConflict as error:
            raise CommandError(f"Not everything could be written: {error}.") from error
        except StoreUnavailable as error:
            raise CommandError(
                f"The table does not answer ({error.why}): run this again, it goes on where it was."
            ) from error

    def seed(self, **options: Any) -> None:
        raise NotImplementedError


def are_embedded() -> bool:
    return settings.EMBEDDED and _is_loopback(settings.DYNAMODB["endpoint"])


def _is_loopback(endpoint: str | None) -> bool:
    host = urlsplit(endpoint or "").hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
