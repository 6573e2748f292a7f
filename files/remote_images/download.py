"""Downloads one image from a URL that an untrusted user chose."""

from pathlib import Path

from django.conf import settings

from core.http_client.download import ExpectedContent, download


def download_image(link: str, to: Path) -> None:
    """Downloads to the local disk. The caller has to detect the file type."""
    download(link, to, ExpectedContent("image/*", "image/", settings.FILES["most_bytes"]))
