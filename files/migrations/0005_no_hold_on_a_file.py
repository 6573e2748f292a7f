from django.db import migrations


class Migration(migrations.Migration):
    """What a case needs is kept by its thread, as long as the case is open."""

    dependencies = [
        ('files', '0004_outside_pictures'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='file',
            name='on_hold',
        ),
    ]
