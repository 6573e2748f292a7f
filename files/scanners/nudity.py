"""Which band a picture is in, by NudeNet, which has to be installed: requirements-nudenet.txt."""

from django.conf import settings

from core.refusals import Refusal
from files.images.worker import Worker, WorkerFailed
from files.models import FULL, File
from files.scanners.sample import Sample

detector = Worker("files.images.nudity_detector")


class NudityScanner:
    def scan(self, sample: Sample) -> None:
        if sample.kind.kind != File.Kind.IMAGE:
            return
        question = {"path": str(sample.variants[FULL])}
        try:
            answer = detector.run(question, seconds=settings.FILES["seconds"])
        except WorkerFailed as error:
            raise Refusal("UPLOAD_QUARANTINED") from error
        sample.band = max(sample.band, int(answer["band"]))
