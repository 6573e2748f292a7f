"""Always there: pictures are made anew within limits, and nothing else of them is kept."""

from typing import Any

from django.conf import settings

from core.refusals import Refusal
from files.images.worker import WorkerFailed, WorkerPool, WorkersBusy
from files.models import BLUR, FULL, THUMB, File
from files.scanners.sample import Sample

# Large pictures have a worker of their own, which gives way to others: one that takes seconds must
# not hold up the small pictures of everybody else.
reencoder = WorkerPool("files.images.encode", size=2)
large_reencoder = WorkerPool("files.images.encode", size=1, niceness=10)
LARGE = {"small_megapixels": 1_000_000}


class BuiltInScanner:
    def scan(self, sample: Sample) -> None:
        if sample.kind.kind != File.Kind.IMAGE:
            sample.content_type = sample.kind.content_type
            sample.variants = {FULL: sample.path}
            return
        answer = self._ask(sample)
        match answer.get("refused"):
            case "too_large":
                most = settings.FILES["most_pixels"]
                raise _too_large(f"A picture can have at most {most:,} pixels a side.")
            case "too_many_megapixels":
                most = settings.FILES["most_megapixels"]
                raise _too_large(
                    f"A picture can have at most {most} megapixels, unless it's a JPEG."
                )
            case "damaged":
                raise Refusal(
                    "UPLOAD_TYPE",
                    "This picture is damaged, or is something else.",
                    hint="Open it, save it again and try that.",
                )
        sample.content_type = answer["content_type"]
        sample.width, sample.height = answer["width"], answer["height"]
        sample.variants = {variant: sample.folder / variant for variant in (FULL, THUMB, BLUR)}

    def _ask(self, sample: Sample) -> dict[str, Any]:
        limits = settings.FILES
        question = {
            "path": str(sample.path),
            "format": sample.kind.format,
            "folder": str(sample.folder),
            **{
                name: limits[name]
                for name in ("most_pixels", "most_megapixels", "small_megapixels")
            },
        }
        waits = {"seconds": limits["seconds"], "queue_seconds": limits["queue_seconds"]}
        try:
            answer = reencoder.run(question, **waits)
            if answer.get("refused") == "for_large_worker":
                answer = large_reencoder.run(question | LARGE, **waits)
        except WorkerFailed as error:
            raise Refusal("UPLOAD_QUARANTINED") from error
        except WorkersBusy as error:
            raise Refusal(
                "UPLOAD_QUARANTINED",
                "Many pictures are being processed right now.",
                hint="Try again in a minute.",
                retry_after=60,
            ) from error
        return answer


def _too_large(message: str) -> Refusal:
    return Refusal("UPLOAD_TOO_LARGE", message, hint="Make it smaller and try again.")
