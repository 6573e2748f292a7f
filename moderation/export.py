"""Exports the evidence of a case as a ZIP of JSON records and files, with their hashes."""

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
from moderation.actions.cases import record_view
from moderation.models import Case, Report
from moderation.queries import access_case, list_audit, list_evidence, list_people
from moderation.roles import RESTRICT

MANIFEST = "SHA256SUMS"
# A fixed time stamp, so that equal contents give equal bytes.
FIXED_TIME = (1980, 1, 1, 0, 0, 0)
CHUNK_BYTES = 1 << 20


def export_case(staff: User, *, case_id: str, reason: str) -> IO[bytes]:
    """A temporary file on disk, since files may be large; closing it deletes it."""
    case = access_case(staff, case_id)
    if not staff.has_perm(RESTRICT):
        raise Refusal("ACTION_FORBIDDEN", "Only the Trust and safety team can do this.")
    record_view(staff, case, what="case.export", reason=reason)
    archive = tempfile.TemporaryFile()  # noqa: SIM115
    _zip(archive, {**_records(case), **_attached(case)})
    archive.seek(0)
    return archive


def _attached(case: Case) -> dict[str, File]:
    """The files of the reported messages that still exist."""
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
        "case.json": _to_json(_case(case)),
        "people.json": _to_json(_people(case)),
        "messages.json": _to_json(list_evidence(case)),
        "audit.json": _to_json([_entry(entry) for entry in list_audit(case)]),
    }
    names = {
        report.pk: f"reports/{number}.json" for number, report in enumerate(case.reports.all(), 1)
    }
    for report in case.reports.all():
        files[names[report.pk]] = _to_json(_report(report, names))
    return files


def _report(report: Report, names: Mapping[int, str]) -> dict[str, Any]:
    """`evidence_sha256` may refer to evidence in the file of an earlier report."""
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


def _to_json(content: Any) -> bytes:
    text = json.dumps(content, ensure_ascii=False, indent=2, sort_keys=True, default=str)
    return (text + "\n").encode()


def _zip(archive: IO[bytes], contents: Mapping[str, bytes | File]) -> None:
    sums = []
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zip_file:
        for name, content in sorted(contents.items()):
            sums.append(f"{_write(zip_file, name, content)}  {name}\n")
        _write(zip_file, MANIFEST, "".join(sums).encode())


def _write(archive: zipfile.ZipFile, name: str, content: bytes | File) -> str:
    """Writes one member and returns its SHA-256."""
    digest = hashlib.sha256()
    source = io.BytesIO(content) if isinstance(content, bytes) else open_file(content, FULL)
    entry = zipfile.ZipInfo(name, FIXED_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    with source, archive.open(entry, "w") as member:
        while chunk := source.read(CHUNK_BYTES):
            digest.update(chunk)
            member.write(chunk)
    return digest.hexdigest()
