import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "messaging_site.settings")
http = get_asgi_application()

application = http
