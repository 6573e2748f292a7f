from typing import Any

from django.core.management.base import BaseCommand, CommandError

from threads.archive.restore import list_damaged
from threads.archive.work_list import list_packed_threads


class Command(BaseCommand):
    help = "Reads every object of the archive, and says which are not as they were written."

    def handle(self, *args: Any, **options: Any) -> None:
        threads = damaged = 0
        for thread_id in list_packed_threads():
            threads += 1
            for pack_id, why in list_damaged(thread_id):
                damaged += 1
                self.stderr.write(f"{thread_id} {pack_id}: {why}")
        if damaged:
            raise CommandError(f"{damaged} objects of the archive are damaged.")
        self.stdout.write(f"The archive of {threads} conversations is whole.")
