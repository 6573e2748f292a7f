"""Reports made before evidence was measured get the size of what they store."""

import json
from typing import Any

from django.db import migrations


def measure(apps: Any, editor: Any) -> None:
    reports = apps.get_model("moderation", "Report").objects
    for report in reports.exclude(evidence={}).only("evidence").iterator(chunk_size=100):
        text = json.dumps(report.evidence, ensure_ascii=False)
        reports.filter(pk=report.pk).update(evidence_bytes=len(text.encode()))


class Migration(migrations.Migration):
    dependencies = [("moderation", "0005_bounded_evidence")]

    operations = [migrations.RunPython(measure, migrations.RunPython.noop)]
