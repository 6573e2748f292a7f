"""When a thread was last written in, and the handles of its people: taken in anew at the start."""

from django.db import migrations, models


def take_in_anew(apps, editor):
    apps.get_model("inbox", "Checked").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("inbox", "0002_full_text")]
    operations = [
        migrations.AddField("indexedthread", "last_at", models.DateTimeField(null=True)),
        migrations.RunPython(take_in_anew, migrations.RunPython.noop),
    ]
