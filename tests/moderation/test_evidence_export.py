"""The evidence export is a readable zip with the hash of every file."""

import hashlib
import io
import json
import zipfile

import pytest

from files.actions import accept_file
from moderation.actions.cases import add_note
from moderation.actions.interventions import take_action
from moderation.export import export_case
from moderation.models import AuditEntry
from tests.moderation.conftest import report, taken
from tests.threads.conftest import say
from threads.actions.revisions import remove_message

pytestmark = pytest.mark.storage


def test_the_export_has_reports_interventions_and_hashes(thread, buyer, seller, moderator):
    message = say(seller, thread, "You fool é")
    case = taken(moderator, report(buyer, thread, message.id, comment="He insults me"))
    take_action(
        moderator, case_id=case.id, name="message.hide", target=message.id, reason="An insult"
    )
    add_note(moderator, case_id=case.id, text="Second time")
    archive = zipfile.ZipFile(export_case(moderator, case_id=case.id, reason="For the police"))
    assert archive.testzip() is None
    sums = dict(
        reversed(line.split("  ")) for line in archive.read("SHA256SUMS").decode().splitlines()
    )
    assert set(sums) == set(archive.namelist()) - {"SHA256SUMS"}
    for name, sum_ in sums.items():
        assert hashlib.sha256(archive.read(name)).hexdigest() == sum_
    messages = json.loads(archive.read("messages.json"))
    assert [m["body"] for m in messages if m["is_reported"]] == ["You fool é"]
    assert messages[-1]["hidden_at"]
    assert json.loads(archive.read("reports/1.json"))["comment"] == "He insults me"
    assert json.loads(archive.read("case.json"))["notes"][0]["text"] == "Second time"
    interventions = [entry["act"] for entry in json.loads(archive.read("audit.json"))]
    assert interventions == ["case.take", "message.hide", "case.note", "case.export"]
    assert AuditEntry.objects.get(act="case.export").reason == "For the police"


def test_the_export_has_sent_files_including_removed_ones(thread, buyer, seller, moderator):
    content = io.BytesIO(b"What was sent")
    sent = accept_file(seller, thread_id=thread, name="a/../b.txt", content=content)
    message = say(seller, thread, "Look", attachments=[sent.id])
    case = taken(moderator, report(buyer, thread, message.id))
    remove_message(seller, thread_id=thread, message_id=message.id)
    archive = zipfile.ZipFile(export_case(moderator, case_id=case.id, reason="For the police"))
    assert archive.read(f"files/{sent.id}/b.txt") == b"What was sent"
    digest = hashlib.sha256(b"What was sent").hexdigest()
    assert f"{digest}  files/{sent.id}/b.txt" in archive.read("SHA256SUMS").decode()
