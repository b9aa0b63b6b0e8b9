"""Which network addresses belong to the public internet."""

import ipaddress

_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")

# Refused although Python's is_global accepts some of them; the IPv6 ones can contain an IPv4 address.
_REFUSED_V4 = [
    ipaddress.IPv4Network(text)
    for text in (
        "100.64.0.0/10",  # shared by carriers; Alibaba's metadata is here
        "168.63.129.16/32",  # Azure's host agent
        "192.0.0.0/24",  # protocol assignments; Oracle's metadata is here
        "192.88.99.0/24",  # 6to4 relays
    )
]
_REFUSED_V6 = [
    ipaddress.IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
]
_ISATAP = (0x00005EFE, 0x02005EFE)


def is_public(text: str) -> bool:
    """Returns whether an address is globally routable. An IPv6 address that contains an IPv4 address is not: mapped
    (::ffff:0:0/96) and NAT64 (64:ff9b::/96) addresses are outside of global unicast, the others are listed."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if not address.is_global or address.is_multicast:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _REFUSED_V4)
    if address.scope_id is not None or address not in _GLOBAL_UNICAST:
        return False
    is_isatap = (int(address) >> 32) & 0xFFFFFFFF in _ISATAP
    return not is_isatap and not any(address in network for network in _REFUSED_V6)
