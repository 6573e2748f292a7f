from channels.routing import URLRouter
from django.urls import path

from realtime.sockets.consumers import MessagingConsumer
from realtime.sockets.database_outage import CloseWithoutDatabase
from realtime.sockets.handshake import SessionUser
from realtime.sockets.origins import SameOrigin

_routes = URLRouter([path("ws/", MessagingConsumer.as_asgi())])  # type: ignore
websocket = SameOrigin(CloseWithoutDatabase(SessionUser(_routes)))
