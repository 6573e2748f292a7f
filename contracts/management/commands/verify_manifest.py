import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from contracts.models import DeliverableManifest


class Command(BaseCommand):
    help = "Compares a folder with a manifest of deliverables."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("manifest", help="manifest id, mft_…")
        parser.add_argument("folder", type=Path)

    def handle(self, *, manifest: str, folder: Path, **options: Any) -> None:
        found = DeliverableManifest.objects.filter(pk=manifest).first()
        if found is None:
            raise CommandError("This manifest does not exist.")
        if not folder.is_dir():
            raise CommandError(f"{folder} is not a folder.")
        wrong = list(differences(found.entries, folder))
        for line in wrong:
            self.stdout.write(line)
        if wrong:
            raise CommandError(f"{len(wrong)} of {len(found.entries)} files differ.")
        self.stdout.write(f"All {len(found.entries)} files match the manifest.")


def differences(entries: list[dict[str, Any]], folder: Path) -> Iterator[str]:
    inside = folder.resolve()
    for entry in entries:
        path = (inside / entry["name"]).resolve()
        if not path.is_relative_to(inside) or not path.is_file():
            yield f"{entry['name']}: is missing"
        elif path.stat().st_size != entry["size"]:
            yield f"{entry['name']}: has another size"
        elif checksum(path) != entry["sha256"]:
            yield f"{entry['name']}: has other content"


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
