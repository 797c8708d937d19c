"""Recognise the person at the server's machine, by a key that the server prints when it starts.

Whatever a browser says about itself can be forged: the address of its page, and even the name under
which it asks for the server (`Host`), if that name resolves to this machine
(https://en.wikipedia.org/wiki/DNS_rebinding). The key can't be. It is in the address that the
server prints; opening that address exchanges it for a cookie, so it leaves the address bar at once.
The cookie counts only if the browser asked for this machine by a name of its own, from a page of
this server, without a proxy.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from functools import cache
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from nlwfa_core.history.owners import pseudonym
from pages.shared.server import home

PARAMETER = "key"
XSRF_COOKIE = "_streamlit_xsrf"
# What proxies add to a request.
FORWARDED = (
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "Forwarded",
    "X-Real-Ip",
    "Via",
)
KEY = secrets.token_urlsafe(32)  # a new one at each start of the server


def is_right_key(key: str) -> bool:
    return hmac.compare_digest(key.encode("utf-8", "replace"), KEY.encode())


def is_direct(headers: Mapping[str, str]) -> bool:
    """Return whether a request came to this machine by a name of its own, from a page of this
    server, and through no proxy.
    """
    host = headers.get("Host") or ""
    origin = headers.get("Origin")
    is_foreign = origin is not None and origin.partition("://")[2] != host
    return (
        _is_loopback(_name(host))
        and not is_foreign
        and not any(name in headers for name in FORWARDED)
    )


def is_at_the_machine(headers: Mapping[str, str], cookies: Mapping[str, str]) -> bool:
    """Return whether a request comes from a browser in which the address with the key was
    opened.
    """
    value = cookies.get(cookie_name(headers.get("Host") or ""), "")
    return is_direct(headers) and hmac.compare_digest(
        value.encode("utf-8", "replace"), cookie_value().encode()
    )


def cookie_name(host: str) -> str:
    """Name the cookie: browsers send it to all servers of a machine, so its name has the port.

    >>> cookie_name("localhost:8501")
    'nlwfa_machine_8501'
    """
    port = host.rpartition(":")[2]
    return f"nlwfa_machine_{port if port.isdecimal() else 'default'}"


def cookie_value() -> str:
    """Return what the cookie must contain. It is the same after a restart with the same folder."""
    return _cookie_value(home())


@cache
def _cookie_value(folder: Path) -> str:
    return pseudonym(folder, "browser at the server's machine")


def without_key(query: str) -> tuple[str, str | None]:
    """Take the key out of an address's query.

    >>> without_key("rank=3&key=abc"), without_key("rank=3")
    (('rank=3', 'abc'), ('rank=3', None))
    """
    parameters = parse_qsl(query, keep_blank_values=True)
    keys = [value for name, value in parameters if name == PARAMETER]
    others = urlencode([(name, value) for name, value in parameters if name != PARAMETER])
    return (others, keys[-1]) if keys else (query, None)


def network(address: str) -> str:
    """Return an address, or the network of an IPv6 address, all of whose 2⁶⁴ addresses one machine
    may have.

    >>> network("192.0.2.1"), network("2001:db8::1"), network("")
    ('192.0.2.1', '2001:db8::/64', '')
    """
    try:
        is_long = ip_address(address).version == 6
    except ValueError:
        return address
    return str(ip_network((address, 64), strict=False)) if is_long else address


def browser_token(cookie: str) -> str:
    """Return the token in Streamlit's cookie against forged requests, unmasked (the mask changes
    each time); "" if malformed.

    The token is random for each browser, never in an address, and deleted when the browser is
    closed.

    >>> browser_token("2|01010101|0203|1700000000"), browser_token("3")
    ('0302', '')
    """
    parts = cookie.strip("\"'").split("|")
    if len(parts) != 4 or parts[0] != "2":
        return ""
    try:
        mask = bytes.fromhex(parts[1])
        masked = bytes.fromhex(parts[2])
    except ValueError:
        return ""
    return bytes(byte ^ mask[i % len(mask)] for i, byte in enumerate(masked)).hex() if mask else ""


def _name(host: str) -> str:
    """Return the name in a Host header, without the port; "" if it is malformed."""
    try:
        return "" if "@" in host else urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_loopback(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
