from django.db import migrations

from contracts.triggers import (protect, unprotect)


class Migration(migrations.Migration):
    dependencies = [("contracts", "0001_records")]

    operations = [
        migrations.RunPython(
            lambda apps, schema_editor: protect(schema_editor),
            lambda apps, schema_editor: unprotect(schema_editor),
        )
    ]
