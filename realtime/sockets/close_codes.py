"""The codes with which the server closes a socket, by what the client does next."""

# Signs in again.
SIGNED_OUT = 4401
# Does not reconnect, since newer connections of the user replaced this one.
REPLACED = 4409
# Sends smaller frames.
TOO_LARGE = 4413
# Reconnects more slowly.
TOO_MANY = 4429
# Reconnects later, when the stores are available again.
UNAVAILABLE = 4503
# Reconnects after an unexpected error of the server.
INTERNAL_ERROR = 1011
