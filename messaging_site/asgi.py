import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "messaging_site.settings")
# Must run before imports that need the app registry.
http = get_asgi_application()

from channels.routing import ProtocolTypeRouter  # noqa: E402

from realtime.routing import websocket  # noqa: E402

application = ProtocolTypeRouter({"http": http, "websocket": websocket})
