import re
from argparse import ArgumentTypeError
from datetime import date, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from threads.archive.archiver import archive_messages
from threads.archive.location import WrongArchive, accept_new_location


def days(text: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,5})d", text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is not a number of days, such as 90d")
    return timedelta(days=int(found[1]))


class Command(BaseCommand):
    help = "Moves old messages to the archive. It can be stopped and run again at any time."

    def add_arguments(self, parser: CommandParser) -> None:
        default = f"{settings.ARCHIVE_DAYS}d"
        parser.add_argument("--older-than", type=days, default=days(default), metavar="90d")
        parser.add_argument(
            "--since",
            type=date.fromisoformat,
            metavar="DAY",
            help="start at this day instead of where the last run ended",
        )

        parser.add_argument(
            "--new-location",
            action="store_true",
            help="archive to the location in the settings, although the last run used another one",
        )

    def handle(
        self, *, older_than: timedelta, since: date | None, new_location: bool, **options: Any
    ) -> None:
        say = self.stdout.write if options["verbosity"] > 1 else lambda line: None
        if new_location:
            accept_new_location()
        try:
            done = archive_messages(older_than, since=since, on_progress=say)
        except WrongArchive as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Archived {done.messages} messages of {done.threads} conversations.")
        if done.failed:
            raise CommandError(
                f"{done.failed} conversations could not be archived completely. Nothing was lost: "
                "the log has the reasons, and the next run retries."
            )
