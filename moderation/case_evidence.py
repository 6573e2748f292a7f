"""The evidence that a case stores: each piece once, and a bounded amount in total."""

import hashlib
import json
from typing import Any

from django.db.models import QuerySet, Sum

from accounts.models import User
from moderation.evidence import MAX_EVIDENCE_BYTES, count_bytes, limit_evidence
from moderation.models import Case, Report

MAX_CASE_EVIDENCE_BYTES = 1024 * 1024
# One reporter's share, so that nobody fills a case before others report. The service has one, too.
MAX_REPORTER_EVIDENCE_BYTES = 256 * 1024


def copy_evidence(case: Case, reporter: User | None, shown: dict[str, Any]) -> dict[str, Any]:
    """The fields of a new report, in the transaction that has locked the case."""
    shown = limit_evidence(shown)
    same = _find_same(case, shown)
    if same is not None:
        return {
            "evidence": _headline(shown),
            "evidence_hash": same.evidence_hash,
            "same_evidence_as": same,
        }
    room = _room(case, reporter)
    kept = limit_evidence(shown, room) if room > 0 else shown
    size = count_bytes(kept)
    if size > room:
        kept, size = _headline(shown) | {"omitted": True}, 0
    return {"evidence": kept, "evidence_hash": hash_content(kept), "evidence_bytes": size}


def hash_content(content: Any) -> str:
    text = json.dumps(
        content, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _find_same(case: Case, shown: dict[str, Any]) -> Report | None:
    stored = Report.objects.filter(case=case, evidence_bytes__gt=0)
    return stored.filter(evidence_hash=hash_content(shown)).first() if shown else None


def _room(case: Case, reporter: User | None) -> int:
    """How much more this reporter may add, within one copy's limit."""
    reports = Report.objects.filter(case=case)
    of_case = MAX_CASE_EVIDENCE_BYTES - _sum_bytes(reports)
    of_reporter = MAX_REPORTER_EVIDENCE_BYTES - _sum_bytes(reports.filter(reporter=reporter))
    return min(MAX_EVIDENCE_BYTES, of_case, of_reporter)


def _sum_bytes(reports: QuerySet[Report]) -> int:
    return reports.aggregate(total=Sum("evidence_bytes"))["total"] or 0


def _headline(shown: dict[str, Any]) -> dict[str, Any]:
    """What a report without a copy of its own still says: which conversation it is about."""
    return {"thread": shown["thread"]} if "thread" in shown else {}
