"""Limits on what clients send and on how slowly they read. Request timeouts are settings."""

# Several files in one form, sent without JavaScript.
MAX_BODY_BYTES = 100 * 1024 * 1024

# In both directions. The consumer refuses received frames above 64 KiB with a readable error.
MAX_WEBSOCKET_FRAME_BYTES = 256 * 1024

# Many clients reconnect at the same moment after a server was restarted.
LISTEN_BACKLOG = 1024

# What is buffered for a client that does not read, and for how long before it is disconnected.
MAX_UNREAD_BYTES = 1024 * 1024
MAX_BLOCKED_SECONDS = 10.0
# The kernel's default would add megabytes to MAX_UNREAD_BYTES.
SEND_BUFFER_BYTES = 256 * 1024

# Any frame of the client postpones it, so pages, which ping every 25 seconds, cause none.
PING_INTERVAL_SECONDS = 30
PING_TIMEOUT_SECONDS = 30
# How often the ages and pings of all connections are checked.
TIMEOUT_CHECK_SECONDS = 10
