"""Whether an IP address is public, and not part of a private network or a cloud host."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# Global according to Python, but not public: protocol assignments (one cloud serves its metadata
# there), the retired 6to4 relays, and the host address of another cloud.
_EXCLUDED = [
    ip_network(network) for network in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32")
]
# All allocated IPv6 addresses. Mapped, tunnelled and translated IPv4 is outside it, except 6to4.
_GLOBAL_UNICAST = ip_network("2000::/3")
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
    return not any(address in network for network in _EXCLUDED)


def _is_public_6(address: IPv6Address) -> bool:
    return address in _GLOBAL_UNICAST and address not in _6TO4
