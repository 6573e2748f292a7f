from django.db import migrations, models

BEFORE = ("pending", "accepted", "declined", "withdrawn")


def decline_superseded(apps, schema_editor):
    """The state before this migration that says the same to both: it was not accepted."""
    offers = apps.get_model("contracts", "Offer").objects.using(schema_editor.connection.alias)
    offers.filter(status="superseded").update(status="declined")


class Migration(migrations.Migration):
    dependencies = [("contracts", "0004_payment_details_and_reversals")]

    operations = [
        migrations.RemoveConstraint(model_name="offer", name="an_offer_is_in_a_known_state"),
        migrations.AddConstraint(
            model_name="offer",
            constraint=models.CheckConstraint(
                condition=models.Q(status__in=(*BEFORE, "superseded")),
                name="an_offer_is_in_a_known_state",
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, decline_superseded),
    ]
