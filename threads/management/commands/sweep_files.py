from typing import Any

from django.core.management.base import BaseCommand

from files.cleanup import delete_unused_files
from threads.cleanup import reconcile_files


class Command(BaseCommand):
    help = "Removes files that no message has any more. The server does this by itself, hourly."

    def handle(self, *args: Any, **options: Any) -> None:
        reconcile_files()
        self.stdout.write(f"{delete_unused_files()} files removed.")
