"""Threads on hold for one author's blocked message become holds of that author.

The table is changed by the outbox once the service runs; each entry looks at what is stored then.
"""

from typing import Any

from django.db import migrations


def enqueue(apps: Any, editor: Any) -> None:
    cases = apps.get_model("moderation", "Case").objects.filter(about="circumvention")
    entries = apps.get_model("accounts", "OutboxEntry").objects
    of_threads = cases.exclude(status="resolved").exclude(thread_id="").exclude(person=None)
    for case_id in of_threads.values_list("pk", flat=True):
        entries.create(kind="hold_conversion", payload={"case": case_id})


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0007_report_answers"),
        ("moderation", "0003_report_answers"),
    ]

    operations = [migrations.RunPython(enqueue, migrations.RunPython.noop)]
