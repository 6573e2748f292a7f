"""The smallest project with django-private-chat2; a process, so the layer in memory is enough."""

import os

SECRET_KEY = "used by the comparison only"
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "channels",
    "django_private_chat2",
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ["CHAT_DATABASE"],
        "OPTIONS": {"timeout": 60},
    }
}
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels.layers.InMemoryChannelLayer",
        # The default of 100 would drop messages silently.
        "CONFIG": {"capacity": 10_000},
    }
}
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
