from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.outbox.maintenance import dead_letters, retry_dead_letters


class Command(BaseCommand):
    help = "Lists the dead letters of the outbox, or makes them due again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("ids", nargs="*", type=int, metavar="ID")
        parser.add_argument("--all", action="store_true", help="retry all dead letters")
        parser.add_argument("--kind", help="only those of this kind")

    def handle(self, *, ids: list[int], all: bool, kind: str | None, **options: Any) -> None:
        found = dead_letters()
        if kind:
            found = found.filter(kind=kind)
        if ids:
            found = found.filter(pk__in=ids)
            missing = sorted(set(ids) - set(found.values_list("pk", flat=True)))
            if missing:
                raise CommandError(f"Not a dead letter: {', '.join(map(str, missing))}.")
        if ids or all:
            self.stdout.write(f"{retry_dead_letters(found)} dead letters will be retried.")
            return
        for entry in found.order_by("id"):
            self.stdout.write(
                f"{entry.pk} {entry.kind} {entry.ordering_key} since {entry.dead_at:%Y-%m-%d %H:%M}"
                f" after {entry.attempts} attempts: {entry.last_error}"
            )
        self.stdout.write(f"{found.count()} dead letters.")
