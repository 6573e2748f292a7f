from django.db import migrations, models

from contracts.triggers import (protect, protect_reversals, unprotect, unprotect_reversals)

CURRENCIES = (
    *("EUR", "USD", "GBP", "CHF", "AED", "AUD", "BHD", "BRL", "CAD", "CLP", "CNY", "COP", "CZK"),
    *("DKK", "EGP", "HKD", "HUF", "IDR", "ILS", "INR", "ISK", "JOD", "JPY", "KES", "KRW", "KWD"),
    *("MAD", "MXN", "MYR", "NGN", "NOK", "NZD", "OMR", "PEN", "PHP", "PLN", "QAR", "RON", "SAR"),
    *("SEK", "SGD", "THB", "TND", "TRY", "TWD", "UAH", "UYU", "VND", "ZAR"),
)
CONSTRAINTS = {
    "amendment": "an_amendment_has_a_known_currency",
    "ledgerentry": "an_entry_has_a_known_currency",
    "leg": "a_leg_has_a_known_currency",
    "offer": "an_offer_has_a_known_currency",
    "receipt": "a_receipt_has_a_known_currency",
}


def protect_all(apps, schema_editor):
    protect(schema_editor)
    protect_reversals(schema_editor)


def unprotect_all(apps, schema_editor):
    unprotect_reversals(schema_editor)
    unprotect(schema_editor)


def change(model, name):
    field = models.CharField(choices=[(code, code) for code in CURRENCIES], max_length=3)
    known = models.CheckConstraint(condition=models.Q(currency__in=CURRENCIES), name=name)
    return [
        migrations.RemoveConstraint(model_name=model, name=name),
        migrations.AlterField(model_name=model, name="currency", field=field),
        migrations.AddConstraint(model_name=model, constraint=known),
    ]


class Migration(migrations.Migration):
    dependencies = [("contracts", "0007_offer_cards")]

    operations = [
        # SQLite changes a table by making it anew, and its triggers go with the old one.
        migrations.RunPython(unprotect_all, protect_all),
        *(operation for model, name in CONSTRAINTS.items() for operation in change(model, name)),
        migrations.RunPython(protect_all, unprotect_all),
    ]
