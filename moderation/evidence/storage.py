"""Stores evidence with reports: deduplicated within a case and limited in size."""

import hashlib
import json
from typing import Any

from django.db.models import QuerySet, Sum

from accounts.models import User
from moderation.evidence.limits import MAX_EVIDENCE_BYTES, count_bytes, limit_evidence
from moderation.models import Case, Report

MAX_CASE_EVIDENCE_BYTES = 1024 * 1024
# Per reporter, so that one cannot use up the limit of a case. Automatic reports share one too.
MAX_REPORTER_EVIDENCE_BYTES = 256 * 1024


def copy_evidence(case: Case, reporter: User | None, shown: dict[str, Any]) -> dict[str, Any]:
    """The evidence fields of a new report. Must run in the transaction that has locked the case."""
    shown = limit_evidence(shown)
    same = _find_same(case, shown)
    if same is not None:
        return {
            "evidence": _summary(shown),
            "evidence_hash": same.evidence_hash,
            "same_evidence_as": same,
        }
    remaining = _remaining_bytes(case, reporter)
    stored = limit_evidence(shown, remaining) if remaining > 0 else shown
    size = count_bytes(stored)
    if size > remaining:
        stored, size = _summary(shown) | {"omitted": True}, 0
    return {"evidence": stored, "evidence_hash": hash_content(stored), "evidence_bytes": size}


def hash_content(content: Any) -> str:
    text = json.dumps(
        content, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _find_same(case: Case, shown: dict[str, Any]) -> Report | None:
    stored = Report.objects.filter(case=case, evidence_bytes__gt=0)
    return stored.filter(evidence_hash=hash_content(shown)).first() if shown else None


def _remaining_bytes(case: Case, reporter: User | None) -> int:
    """How much this reporter can still add to the case, at most the limit of one report."""
    reports = Report.objects.filter(case=case)
    of_case = MAX_CASE_EVIDENCE_BYTES - _sum_bytes(reports)
    of_reporter = MAX_REPORTER_EVIDENCE_BYTES - _sum_bytes(reports.filter(reporter=reporter))
    return min(MAX_EVIDENCE_BYTES, of_case, of_reporter)


def _sum_bytes(reports: QuerySet[Report]) -> int:
    return reports.aggregate(total=Sum("evidence_bytes"))["total"] or 0


def _summary(shown: dict[str, Any]) -> dict[str, Any]:
    """What a report without its own copy stores: which conversation it is about."""
    return {"thread": shown["thread"]} if "thread" in shown else {}
