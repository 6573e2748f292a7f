from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from threads.dynamodb.table import create_table


class Command(BaseCommand):
    help = "Creates the DynamoDB table, or lists how an existing one differs. Safe to run again."

    def handle(self, *args: Any, **options: Any) -> None:
        differences = create_table()
        if differences:
            raise CommandError(
                f"Table {settings.DYNAMODB['table']} has a different schema:\n  "
                + "\n  ".join(differences)
            )
        self.stdout.write(f"Table {settings.DYNAMODB['table']} is ready.")
