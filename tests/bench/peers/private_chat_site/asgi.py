"""The application that daphne serves."""

import django

django.setup()

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.urls import path  # noqa: E402
from django_private_chat2.consumers import ChatConsumer  # noqa: E402

sockets = URLRouter([path("chat_ws", ChatConsumer.as_asgi())])
application = ProtocolTypeRouter({"websocket": AuthMiddlewareStack(sockets)})
