"""Base class of the seed commands, which by default write to embedded stores only."""

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
            help="write to the configured stores even if they are not embedded",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not (options["force"] or are_embedded()):
            raise CommandError(
                "The configured stores are not embedded, so nothing was written. "
                "Add --force to write to them."
            )
        try:
            self.seed(**options)
        except HistoryConflict as error:
            raise CommandError(f"Not everything was written: {error}.") from error
        except StoreUnavailable as error:
            raise CommandError(
                f"DynamoDB does not answer ({error.reason}). Run the command again to continue."
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
