"""The export of a profile: photo, portfolio, verification requests and their documents."""

from typing import Any

from accounts.models import User
from files import storage
from files.models import FULL, SQUARES, File
from files.names import EXTENSIONS
from people.models import Photo, PortfolioImage, VerificationRequest
from privacy.export.zip_file import ExportZip
from threads.dynamodb import keys


def write_profile(export_zip: ExportZip, user: User) -> None:
    export_zip.add_json(
        "profile/profile.json",
        {
            "photo": _write_photo(export_zip, user),
            "portfolio": _write_portfolio(export_zip, user),
            "verification_requests": _write_verification(export_zip, user),
        },
    )


def _write_photo(export_zip: ExportZip, user: User) -> str | None:
    photo = Photo.objects.filter(user=user).select_related("file").first()
    return _add_file(export_zip, photo.file, SQUARES[0], "profile/photo") if photo else None


def _write_portfolio(export_zip: ExportZip, user: User) -> list[dict[str, Any]]:
    images = PortfolioImage.objects.filter(user=user).select_related("file")
    return [
        {
            "file": _add_file(export_zip, image.file, FULL, f"profile/portfolio/{number:02d}"),
            "caption": image.caption,
            "added_at": keys.iso(image.created_at),
        }
        for number, image in enumerate(images, 1)
    ]


def _write_verification(export_zip: ExportZip, user: User) -> list[dict[str, Any]]:
    requests = VerificationRequest.objects.filter(user=user).select_related("document")
    return [
        {
            "state": one.state,
            "link": one.link,
            "note": one.note,
            "reason": one.reason,
            "asked_at": keys.iso(one.created_at),
            "decided_at": keys.iso(one.decided_at) if one.decided_at else None,
            "document": _add_file(
                export_zip, one.document, FULL, f"profile/verification/{number:02d}"
            )
            if one.document
            else None,
        }
        for number, one in enumerate(requests, 1)
    ]


def _add_file(export_zip: ExportZip, file: File, variant: str, stem: str) -> str | None:
    """The name of the file in the ZIP; None if it was deleted meanwhile."""
    name = f"{stem}.{EXTENSIONS[file.content_type][0]}"
    try:
        with storage.open_file(file, variant) as content:
            export_zip.add_stream(name, content, is_packed=file.kind != File.Kind.TEXT)
    except FileNotFoundError:
        return None
    return name
