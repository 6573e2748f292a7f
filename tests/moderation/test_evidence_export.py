"""The evidence as a zip: readable, whole, and every file with its hash."""

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


def test_holds_what_was_reported_and_done_and_the_hash_of_each(thread, buyer, seller, moderator):
    bad = say(seller, thread, "You fool é")
    case = taken(moderator, report(buyer, thread, bad.id, comment="He insults me"))
    take_action(moderator, case_id=case.id, name="message.hide", target=bad.id, reason="An insult")
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
    acts = [entry["act"] for entry in json.loads(archive.read("audit.json"))]
    assert acts == ["case.take", "message.hide", "case.note", "case.export"]
    assert AuditEntry.objects.get(act="case.export").reason == "For the police"


def test_holds_the_files_that_were_sent_also_those_removed_since(thread, buyer, seller, moderator):
    words = io.BytesIO(b"What was sent")
    sent = accept_file(seller, thread_id=thread, name="a/../b.txt", content=words)
    bad = say(seller, thread, "Look", attachments=[sent.id])
    case = taken(moderator, report(buyer, thread, bad.id))
    remove_message(seller, thread_id=thread, message_id=bad.id)
    archive = zipfile.ZipFile(export_case(moderator, case_id=case.id, reason="For the police"))
    assert archive.read(f"files/{sent.id}/b.txt") == b"What was sent"
    digest = hashlib.sha256(b"What was sent").hexdigest()
    assert f"{digest}  files/{sent.id}/b.txt" in archive.read("SHA256SUMS").decode()
