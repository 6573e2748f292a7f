from typing import Any

from django.core.management.base import BaseCommand

from files.cleanup import sweep_files
from threads.cleanup import settle_files


class Command(BaseCommand):
    help = "Removes files that no message has any more. The server does this by itself, hourly."

    def handle(self, *args: Any, **options: Any) -> None:
        settle_files()
        self.stdout.write(f"{sweep_files()} files removed.")
