from typing import Any

from django.core.management.base import BaseCommand, CommandError

from moderation.audit import find_faults
from moderation.models import AuditEntry


class Command(BaseCommand):
    help = "Check that no audit entry was changed or removed."

    def handle(self, *args: Any, **options: Any) -> None:
        faults = list(find_faults())
        for fault in faults:
            self.stderr.write(fault)
        if faults:
            raise CommandError(f"The audit is not intact: {len(faults)} faults.")
        last = AuditEntry.objects.order_by("-number").first()
        end = f", the last with hash {last.hash}" if last else ""
        self.stdout.write(f"The audit is intact: {last.number if last else 0} entries{end}.")
