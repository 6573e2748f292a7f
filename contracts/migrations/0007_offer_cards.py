import django.db.models.deletion
from django.db import migrations, models

CLOSED_BY_SYSTEM = ("expired", "superseded")


def queue_cards(apps, schema_editor):
    """The outbox adds a card for each pending offer, so that it is a message in its thread."""
    alias = schema_editor.connection.alias
    entries = apps.get_model("accounts", "OutboxEntry").objects.using(alias)
    offers = apps.get_model("contracts", "Offer").objects.using(alias).filter(status="pending")
    for offer_id, thread_id in offers.order_by("pk").values_list("pk", "thread_id").iterator():
        entries.create(
            kind="offer_card",
            payload={"thread": thread_id, "offer": offer_id},
            ordering_key=f"thread:{thread_id}",
        )


def restore_states(apps, schema_editor):
    """The states before this migration that say the same: the offer was not accepted."""
    alias = schema_editor.connection.alias
    offers = apps.get_model("contracts", "Offer").objects.using(alias)
    closed = offers.filter(status__in=("countered", "expired", "superseded"))
    closed.filter(answered_by__isnull=True).update(answered_by=models.F("proposed_by"))
    offers.filter(status__in=("countered", "expired")).update(status="declined")
    if schema_editor.connection.vendor == "postgresql":
        # The tables are changed next, which pending checks of references would prevent.
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0009_earlier_names"),
        ("contracts", "0006_completed_legs"),
    ]

    operations = [
        migrations.AddField(
            model_name="card",
            name="offer",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="card",
                to="contracts.offer",
            ),
        ),
        migrations.AddField(
            model_name="card",
            name="warned_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="offer",
            name="valid_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.RemoveConstraint(model_name="offer", name="an_offer_is_in_a_known_state"),
        migrations.RemoveConstraint(model_name="offer", name="an_answer_has_a_time_and_a_person"),
        migrations.AddConstraint(
            model_name="offer",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    status__in=("pending", "accepted", "declined", "withdrawn", "countered", "expired", "superseded")
                ),
                name="an_offer_is_in_a_known_state",
            ),
        ),
        migrations.AddConstraint(
            model_name="offer",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    answered_at__isnull=True, answered_by__isnull=True, status="pending"
                )
                | models.Q(
                    ~models.Q(status__in=("pending", *CLOSED_BY_SYSTEM)),
                    answered_at__isnull=False,
                    answered_by__isnull=False,
                )
                | models.Q(answered_at__isnull=False, status__in=CLOSED_BY_SYSTEM),
                name="an_answer_has_a_time_and_a_person",
            ),
        ),
        migrations.RunPython(queue_cards, restore_states),
    ]
