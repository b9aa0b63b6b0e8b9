"""Which addresses a download may go to."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.addresses import is_public

PRIVATE = """
0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.254 168.63.129.16
169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1
198.51.100.1 203.0.113.1 224.0.0.1 224.0.1.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b::7f00:1 64:ff9b::808:808
64:ff9b:1::1 100::1 2001::1 2001:0:7f00:1:: 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1:: 2002:808:808::1
3fff::1 5f00::1 4000::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 2606:4700::1%eth0 fec0::1 ff02::1 ff0e::1
2606:4700::5efe:7f00:1 2606:4700::200:5efe:a00:1
localhost 127.1 0x7f.0.0.1 1.2.3 1.2.3.4.5 example.com
"""
PUBLIC = "8.8.8.8 1.1.1.1 100.63.255.255 100.128.0.1 172.32.0.1 192.0.1.1 2606:4700:4700::1111 2a00:1450::1"


@pytest.mark.parametrize("address", ["", *PRIVATE.split()])
def test_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC.split())
def test_public(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses(v=4))
def test_no_ipv4_address_inside_an_ipv6_one_is_public(address: ipaddress.IPv4Address) -> None:
    number = int(address)
    for prefix in ("::", "::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "2606:4700::5efe:0:0"):
        assert not is_public(str(ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | number)))
    assert not is_public(str(ipaddress.IPv6Address((0x2002 << 112) | number << 80)))


@given(st.ip_addresses())
def test_public_means_global_to_python_too(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    assert not is_public(str(address)) or address.is_global
