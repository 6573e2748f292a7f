from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.core.management.base import BaseCommand, CommandError, CommandParser

from contracts.management.commands.verify_manifest import checksum


class Command(BaseCommand):
    help = "Prints the files of a folder in the format of the page that delivers finals."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("link", help="base URL of the files")

    def handle(self, *, folder: Path, link: str, **options: Any) -> None:
        if not folder.is_dir():
            raise CommandError(f"{folder} is not a folder.")
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            name = path.relative_to(folder).as_posix()
            where = f"{link.rstrip('/')}/{quote(name)}"
            self.stdout.write(f"{checksum(path)} {path.stat().st_size} {where} {name}")
