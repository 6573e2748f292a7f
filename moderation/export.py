"""The evidence of a case as a zip: readable files, and a list of their hashes."""

import hashlib
import io
import json
import zipfile
from typing import Any

from accounts.models import User
from moderation.actions import look
from moderation.models import Case
from moderation.queries import list_audit, list_evidence, list_people

MANIFEST = "SHA256SUMS"
# The same contents are the same bytes, whenever they are exported.
NO_TIME = (1980, 1, 1, 0, 0, 0)


def export_case(staff: User, case: Case, *, reason: str) -> bytes:
    look(staff, case, what="case.export", reason=reason)
    return _zipped(_files(case))


def _files(case: Case) -> dict[str, bytes]:
    files = {
        "case.json": _written(_case(case)),
        "people.json": _written(_people(case)),
        "messages.json": _written(list_evidence(case)),
        "audit.json": _written([_entry(entry) for entry in list_audit(case)]),
    }
    for number, report in enumerate(case.reports.all(), 1):
        files[f"reports/{number}.json"] = _written(
            {
                "reason": report.reason,
                "comment": report.comment,
                "reporter": report.reporter_id,
                "reported_at": report.created_at,
                "message": report.message_id,
                "evidence": report.evidence,
                "evidence_sha256": report.evidence_hash,
            }
        )
    return files


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


def _zipped(files: dict[str, bytes]) -> bytes:
    sums = "".join(
        f"{hashlib.sha256(content).hexdigest()}  {name}\n"
        for name, content in sorted(files.items())
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in [*sorted(files.items()), (MANIFEST, sums.encode())]:
            archive.writestr(zipfile.ZipInfo(name, NO_TIME), content)
    return buffer.getvalue()
