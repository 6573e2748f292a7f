from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.urls import path

from realtime.consumers import Socket
from realtime.origins import SameOrigin

websocket = SameOrigin(AuthMiddlewareStack(URLRouter([path("ws/", Socket.as_asgi())])))  # type: ignore
