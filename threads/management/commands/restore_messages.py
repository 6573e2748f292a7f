from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from threads.archive.restore import restore_thread
from threads.archive.work_list import list_packed_threads


class Command(BaseCommand):
    help = "Brings archived messages back into the table. Can be stopped, and run again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--thread", help="only this one, thrd_…")

    def handle(self, *, thread: str | None = None, **options: Any) -> None:
        restored = [
            restore_thread(each) for each in ([thread] if thread else list_packed_threads())
        ]
        self.stdout.write(
            f"Brought back {sum(restored)} messages of {sum(map(bool, restored))} conversations."
        )
