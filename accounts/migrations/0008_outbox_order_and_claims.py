from django.db import migrations, models
from django.db.models import Q
from django.utils import timezone

PENDING = Q(("dead_at__isnull", True), ("done_at__isnull", True))


def fill_ordering_keys(apps, schema_editor):
    """As accounts.models.ordering_key_of made them when this was written."""
    entries = apps.get_model("accounts", "OutboxEntry").objects
    entries.filter(done_at__isnull=False).update(ordering_key="done")
    for entry in entries.filter(done_at__isnull=True).iterator():
        entry.ordering_key = _key(entry.kind, entry.payload)
        entry.save(update_fields=["ordering_key"])


def _key(kind, payload):
    if kind == "case":
        return f"case:{payload.get('thread') or payload.get('person') or ''}"
    if "case" in payload:
        return f"case:{payload['case']}"
    if payload.get("by_staff"):
        return f"staff:{payload['thread']}"
    if "thread" in payload:
        return f"thread:{payload['thread']}"
    if "user" in payload:
        return f"user:{payload['user']}"
    if "blocker" in payload:
        return "pair:{}:{}".format(*sorted((payload["blocker"], payload["blocked"])))
    return f"kind:{kind}"


class Migration(migrations.Migration):
    # That migration of moderation writes entries, which then need an ordering key.
    dependencies = [("accounts", "0007_report_answers"), ("moderation", "0004_author_holds")]

    operations = [
        migrations.AlterModelOptions(
            name="outboxentry", options={"verbose_name_plural": "outbox entries"}
        ),
        migrations.RemoveIndex(model_name="outboxentry", name="outbox_waiting"),
        migrations.AddField(
            "outboxentry",
            "ordering_key",
            models.CharField(default="", max_length=100),
            preserve_default=False,
        ),
        migrations.AddField(
            "outboxentry", "due_at", models.DateTimeField(default=timezone.now)
        ),
        migrations.AddField("outboxentry", "attempts", models.PositiveIntegerField(default=0)),
        migrations.AddField("outboxentry", "failures", models.PositiveIntegerField(default=0)),
        migrations.AddField(
            "outboxentry",
            "last_error",
            models.CharField(blank=True, default="", max_length=100),
            preserve_default=False,
        ),
        migrations.AddField(
            "outboxentry",
            "claimed_by",
            models.CharField(blank=True, default="", max_length=16),
            preserve_default=False,
        ),
        migrations.AddField("outboxentry", "claimed_until", models.DateTimeField(null=True)),
        migrations.AddField("outboxentry", "dead_at", models.DateTimeField(null=True)),
        migrations.RunPython(fill_ordering_keys, migrations.RunPython.noop),
        migrations.AddIndex(
            "outboxentry",
            models.Index(condition=PENDING, fields=["due_at", "id"], name="outbox_due"),
        ),
        migrations.AddIndex(
            "outboxentry",
            models.Index(condition=PENDING, fields=["ordering_key", "id"], name="outbox_order"),
        ),
        migrations.AddIndex(
            "outboxentry",
            models.Index(
                condition=Q(("dead_at__isnull", False)), fields=["dead_at"], name="outbox_dead"
            ),
        ),
        migrations.AddIndex(
            "outboxentry",
            models.Index(
                condition=Q(("done_at__isnull", False)), fields=["done_at"], name="outbox_done"
            ),
        ),
        migrations.AddConstraint(
            "outboxentry",
            models.CheckConstraint(
                condition=~Q(("ordering_key", "")), name="outbox_has_ordering_key"
            ),
        ),
    ]
