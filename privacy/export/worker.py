"""Writes requested exports one after the other, in a thread of the server. An export whose server
was stopped is taken over by another one."""

import tempfile
import threading
from pathlib import Path

import structlog
from django.core.mail import send_mail
from django.db import close_old_connections, connection
from django.template.loader import render_to_string

from core.refusals import Refusal
from files.exports import claim_export, finish_export, renew_claim, retry_later
from files.models import Export
from privacy.export.account import write_account
from privacy.export.thread import write_thread
from privacy.export.zip_file import ExportZip

log = structlog.get_logger(__name__)
POLL_SECONDS = 2.0


class ClaimLost(Exception):
    """Another worker has taken over, or the export was deleted."""


def run_export_worker(stop: threading.Event) -> None:
    """The server runs this in a separate thread."""
    while not stop.is_set():
        try:
            close_old_connections()
            while not stop.is_set() and export_next():
                pass
        except Exception:
            log.exception("export_worker_failed")
        stop.wait(POLL_SECONDS)
    connection.close()


def export_next() -> bool:
    """False if no export is waiting."""
    export = claim_export()
    if export is None:
        return False
    try:
        if _write(export):
            _send_mail(export)
    except ClaimLost:
        log.info("export_claim_lost", export=export.id)
    except Exception:
        log.exception("export_failed", export=export.id)
        retry_later(export)
    return True


def _write(export: Export) -> bool:
    def heartbeat() -> None:
        if not renew_claim(export):
            raise ClaimLost

    with tempfile.TemporaryDirectory(prefix="parley-export-") as folder:
        path = Path(folder) / "export.zip"
        with ExportZip(path, heartbeat) as export_zip:
            export_zip.add_style()
            if export.thread_id:
                _write_thread(export_zip, export)
            else:
                write_account(export_zip, export.owner)
        return finish_export(export, path)


def _write_thread(export_zip: ExportZip, export: Export) -> None:
    try:
        write_thread(export_zip, export.owner, export.thread_id)
    except Refusal as refusal:
        if refusal.code != "THREAD_NOT_FOUND":
            raise
        # They left the thread after requesting the export.
        export.delete()
        raise ClaimLost from refusal


def _send_mail(export: Export) -> None:
    """Must not raise: the export is finished."""
    try:
        text = render_to_string("privacy/export/mail.txt", {"export": export})
        send_mail("Your export is ready", text, None, [export.owner.email])
    except Exception:
        log.exception("export_mail_failed", export=export.id)
