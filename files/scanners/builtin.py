"""Re-encodes images within limits, and stores nothing else of them. Always enabled."""

from typing import Any

from django.conf import settings

from core.refusals import Refusal
from files.images.worker import WorkerFailed, WorkerPool, WorkersBusy
from files.models import BLUR, FULL, SQUARES, THUMB, File
from files.scanners.sample import Sample

# Large images have a separate worker with low priority: one that takes seconds must not delay the
# small images of other users.
reencoder = WorkerPool("files.images.encode", size=2)
large_reencoder = WorkerPool("files.images.encode", size=1, niceness=10)
LARGE = {"small_megapixels": 1_000_000}


class BuiltInScanner:
    def scan(self, sample: Sample) -> None:
        if sample.kind.kind != File.Kind.IMAGE:
            sample.content_type = sample.kind.content_type
            sample.variants = {FULL: sample.path}
            return
        response = self._encode(sample)
        match response.get("refused"):
            case "too_large":
                limit = settings.FILES["most_pixels"]
                raise _too_large(f"Photos can have up to {limit:,} pixels per side.")
            case "too_many_megapixels":
                limit = settings.FILES["most_megapixels"]
                raise _too_large(f"Photos can have up to {limit} megapixels, except JPEGs.")
            case "damaged":
                raise Refusal(
                    "UPLOAD_TYPE",
                    "We couldn't read this photo.",
                    hint="Open it, save it again and attach the new file.",
                )
        sample.content_type = response["content_type"]
        sample.width, sample.height = response["width"], response["height"]
        made = (FULL, THUMB, BLUR, *(SQUARES if sample.centering else ()))
        sample.variants = {variant: sample.folder / variant for variant in made}

    def _encode(self, sample: Sample) -> dict[str, Any]:
        limits = settings.FILES
        request = {
            "path": str(sample.path),
            "format": sample.kind.format,
            "folder": str(sample.folder),
            "squares": SQUARES if sample.centering else (),
            "centering": sample.centering,
            **{
                name: limits[name]
                for name in ("most_pixels", "most_megapixels", "small_megapixels")
            },
        }
        waits = {"seconds": limits["seconds"], "queue_seconds": limits["queue_seconds"]}
        try:
            response = reencoder.run(request, **waits)
            if response.get("refused") == "for_large_worker":
                response = large_reencoder.run(request | LARGE, **waits)
        except WorkerFailed as error:
            raise Refusal("UPLOAD_QUARANTINED") from error
        except WorkersBusy as error:
            raise Refusal(
                "UPLOAD_QUARANTINED",
                "We're processing many photos right now.",
                hint="Try again in a minute.",
                retry_after=60,
            ) from error
        return response


def _too_large(message: str) -> Refusal:
    return Refusal("UPLOAD_TOO_LARGE", message, hint="Make it smaller and try again.")
