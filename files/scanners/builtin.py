"""Always there: pictures are made anew within limits, and nothing else of them is kept."""

from typing import Any

from django.conf import settings

from accounts.refusals import Refusal
from files.models import BLUR, FULL, THUMB, File
from files.scanners.sample import Sample
from files.worker import Worker, WorkerFailed

reencoder = Worker("files.reencoding")


class BuiltIn:
    def scan(self, sample: Sample) -> None:
        if sample.kind.kind != File.Kind.IMAGE:
            sample.content_type = sample.kind.content_type
            sample.made = {FULL: sample.path}
            return
        answer = self._ask(sample)
        match answer.get("refused"):
            case "too_large":
                most = settings.FILES["most_pixels"]
                raise Refusal(
                    "UPLOAD_TOO_LARGE",
                    f"A picture can have at most {most:,} pixels a side.",
                    hint="Make it smaller and try again.",
                )
            case "damaged":
                raise Refusal(
                    "UPLOAD_TYPE",
                    "This picture is damaged, or is something else.",
                    hint="Open it, save it again and try that.",
                )
        sample.content_type = answer["content_type"]
        sample.width, sample.height = answer["width"], answer["height"]
        sample.made = {variant: sample.folder / variant for variant in (FULL, THUMB, BLUR)}

    def _ask(self, sample: Sample) -> dict[str, Any]:
        question = {
            "path": str(sample.path),
            "format": sample.kind.format,
            "folder": str(sample.folder),
            "most_pixels": settings.FILES["most_pixels"],
        }
        try:
            return reencoder.ask(question, seconds=settings.FILES["seconds"])
        except WorkerFailed as error:
            raise Refusal("UPLOAD_QUARANTINED") from error
