"""Which addresses are out on the web, and not somebody's own network or machine."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# Theirs by name or by custom, though Python counts them as anybody's: protocol assignments (where
# one cloud keeps its metadata), the retired relays of 6to4, and the host of another cloud.
_NOT_OURS_TO_ASK = [
    ip_network(network) for network in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32")
]
# All of IPv6 that was ever given out; what maps, tunnels or translates IPv4 is elsewhere, but 6to4.
_GIVEN_OUT = ip_network("2000::/3")
_6TO4 = ip_network("2002::/16")


def is_public(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    return _is_public_4(address) if isinstance(address, IPv4Address) else _is_public_6(address)


def _is_public_4(address: IPv4Address) -> bool:
    return not any(address in network for network in _NOT_OURS_TO_ASK)


def _is_public_6(address: IPv6Address) -> bool:
    return address in _GIVEN_OUT and address not in _6TO4
