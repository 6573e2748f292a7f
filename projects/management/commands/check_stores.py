from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.outbox.maintenance import measure_backlog
from projects.consistency.orphans import find_orphans
from projects.consistency.records import (
    compare_blocks,
    compare_offers,
    compare_profiles,
    compare_threads,
)


class Command(BaseCommand):
    help = (
        "Compares SQL with DynamoDB in both directions and prints the differences. Scans the whole "
        "table. Changes nothing."
    )

    def handle(self, **options: Any) -> None:
        found = 0
        checks = (compare_threads, compare_offers, compare_profiles, compare_blocks, find_orphans)
        for check in checks:
            for problem in check():
                found += 1
                self.stdout.write(problem)
        backlog = measure_backlog()
        if backlog.pending:
            self.stdout.write(f"{backlog.pending} outbox entries are pending.")
        if backlog.dead:
            found += backlog.dead
            self.stdout.write(f"{backlog.dead} outbox entries are dead letters: see retry_outbox.")
        if found:
            raise CommandError(f"{found} differences.")
        self.stdout.write("The stores agree.")
