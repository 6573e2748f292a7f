import django.db.models.deletion
import files.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('files', '0003_exports'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='OutsidePicture',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('thread_id', models.CharField(max_length=31)),
                ('part', models.CharField(max_length=40)),
                ('link', models.CharField(max_length=1000)),
                ('file_id', models.CharField(default=files.models.new_file_id, max_length=31)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('due_at', models.DateTimeField()),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['due_at'], name='outside_by_due')],
                'constraints': [models.UniqueConstraint(fields=('thread_id', 'part'), name='one_picture_a_pin')],
            },
        ),
    ]
