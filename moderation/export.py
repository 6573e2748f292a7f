"""The evidence of a case as a zip: what was said and done, readable, the files that were sent, and
the hashes of it all."""

import hashlib
import io
import json
import tempfile
import zipfile
from collections.abc import Mapping
from typing import IO, Any

from accounts.models import User
from core.refusals import Refusal
from files.models import FULL, File
from files.storage import open_file
from moderation.actions import look
from moderation.models import Case, Report
from moderation.queries import access_case, list_audit, list_evidence, list_people
from moderation.roles import RESTRICT

MANIFEST = "SHA256SUMS"
# The same contents are the same bytes, whenever they are exported.
NO_TIME = (1980, 1, 1, 0, 0, 0)
CHUNK = 1 << 20


def export_case(staff: User, *, case_id: str, reason: str) -> IO[bytes]:
    """On disk, since files may be large; it is gone when it is closed."""
    case = access_case(staff, case_id)
    if not staff.has_perm(RESTRICT):
        raise Refusal("ACTION_FORBIDDEN", "This is for trust and safety to do.")
    look(staff, case, what="case.export", reason=reason)
    archive = tempfile.TemporaryFile()  # noqa: SIM115
    _zip(archive, {**_records(case), **_attached(case)})
    archive.seek(0)
    return archive


def _attached(case: Case) -> dict[str, File]:
    """Those of what was reported, as far as they are still there."""
    wanted = [
        attached["id"]
        for message in list_evidence(case)
        for attached in message["attachments"]
        if "id" in attached
    ]
    found = File.objects.filter(pk__in=wanted, thread_id=case.thread_id, state=File.State.READY)
    return {f"files/{file.id}/{file.name}": file for file in found}


def _records(case: Case) -> dict[str, bytes]:
    files = {
        "case.json": _written(_case(case)),
        "people.json": _written(_people(case)),
        "messages.json": _written(list_evidence(case)),
        "audit.json": _written([_entry(entry) for entry in list_audit(case)]),
    }
    names = {
        report.pk: f"reports/{number}.json" for number, report in enumerate(case.reports.all(), 1)
    }
    for report in case.reports.all():
        files[names[report.pk]] = _written(_report(report, names))
    return files


def _report(report: Report, names: Mapping[int, str]) -> dict[str, Any]:
    """The hash is of the evidence, which may be in the file of an earlier report."""
    exported = {
        "reason": report.reason,
        "comment": report.comment,
        "reporter": report.reporter_id,
        "reported_at": report.created_at,
        "message": report.message_id,
        "evidence": report.evidence,
        "evidence_sha256": report.evidence_hash,
    }
    if report.same_evidence_as_id:
        exported["same_evidence_as"] = names[report.same_evidence_as_id]
    return exported


def _case(case: Case) -> dict[str, Any]:
    return {
        "id": case.id,
        "about": case.about,
        "thread": case.thread_id,
        "person": case.person_id,
        "status": case.status,
        "opened_at": case.opened_at,
        "outcome": case.outcome,
        "notes": [
            {"author": note.author_id, "at": note.created_at, "text": note.text}
            for note in case.notes.all()
        ],
    }


def _people(case: Case) -> list[dict[str, Any]]:
    return [
        {
            "id": view.user.id,
            "handle": view.user.handle,
            "name": view.user.display_name,
            "role": view.role,
            "cases": [one.id for one in view.cases],
        }
        for view in list_people(case)
    ]


def _entry(entry: Any) -> dict[str, Any]:
    names = [field.name for field in entry._meta.fields]
    return {name: getattr(entry, name) for name in names}


def _written(content: Any) -> bytes:
    text = json.dumps(content, ensure_ascii=False, indent=2, sort_keys=True, default=str)
    return (text + "\n").encode()


def _zip(archive: IO[bytes], contents: Mapping[str, bytes | File]) -> None:
    sums = []
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in sorted(contents.items()):
            sums.append(f"{_write(written, name, content)}  {name}\n")
        _write(written, MANIFEST, "".join(sums).encode())


def _write(archive: zipfile.ZipFile, name: str, content: bytes | File) -> str:
    """Its hash."""
    digest = hashlib.sha256()
    source = io.BytesIO(content) if isinstance(content, bytes) else open_file(content, FULL)
    entry = zipfile.ZipInfo(name, NO_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    with source, archive.open(entry, "w") as to:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            to.write(chunk)
    return digest.hexdigest()
