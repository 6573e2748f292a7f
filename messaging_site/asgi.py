import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "messaging_site.settings")
# Must run before imports that need the app registry.
django.setup(set_prefix=False)

from channels.routing import ProtocolTypeRouter  # noqa: E402

from detection import load  # noqa: E402
from messaging_site.http_handler import HttpHandler  # noqa: E402
from realtime.routing import websocket  # noqa: E402

load()
application = ProtocolTypeRouter({"http": HttpHandler(), "websocket": websocket})
