from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.urls import path

from realtime.consumers import Socket
from realtime.database_outage import CloseWithoutDatabase
from realtime.origins import SameOrigin

_routes = URLRouter([path("ws/", Socket.as_asgi())])  # type: ignore
websocket = SameOrigin(CloseWithoutDatabase(AuthMiddlewareStack(_routes)))
