"""Make links that other people can open: with the machine's address in its network instead of
localhost, and as a QR code.
"""

from __future__ import annotations

import io
import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

EVERY_INTERFACE = ("", "0.0.0.0", "::")
# An address for documentation (RFC 5737). Nothing is sent there: connecting a UDP socket only
# chooses the interface.
ELSEWHERE = ("192.0.2.1", 9)


def is_this_machine(host: str) -> bool:
    """Return whether a host name means the machine on which it is read.

    >>> [
    ...     is_this_machine(host)
    ...     for host in (
    ...         "localhost",
    ...         "127.0.0.1",
    ...         "::1",
    ...         "0.0.0.0",
    ...         "192.168.1.7",
    ...         "lab.example.org",
    ...     )
    ... ]
    [True, True, True, True, False, False]
    """
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def lan_address() -> str:
    """Return this machine's IPv4 address in its network; "" if it is not in a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(ELSEWHERE)
        except OSError:
            return ""
        host = str(probe.getsockname()[0])
    return "" if is_this_machine(host) else host


def shared_link(link: str, listens_on: str, lan: str) -> tuple[str, str]:
    """Return a link that people on other machines can open, and a warning if there is none.

    `link`: the address in this machine's browser. `listens_on`: the address on which the server
    listens; "" for every interface. `lan`: the machine's name or address in its network; "" if it
    is not known.

    >>> shared_link("http://localhost:8501/train?rank=3", "", "192.168.1.7")
    ('http://192.168.1.7:8501/train?rank=3', '')
    """
    parts = urlsplit(link)
    if not is_this_machine(parts.hostname or "localhost"):
        return link, ""
    if listens_on not in EVERY_INTERFACE:
        return link, (
            f"Nobody else can open this link: the lab listens on {listens_on} only. Restart it "
            "without STREAMLIT_SERVER_ADDRESS and --server.address to let others on your network "
            "open the link."
        )
    if not lan:
        return (
            link,
            "Nobody else can open this link: write this computer's name or address in place "
            f"of {parts.hostname}.",
        )
    port = f":{parts.port}" if parts.port else ""
    return parts._replace(netloc=f"{lan}{port}").geturl(), ""


def qr_code(text: str) -> str:
    """Draw a QR code as SVG, black on white with its quiet zone; "" if the text is too long for
    one.

    Source: ISO/IEC 18004, by the package segno.
    """
    import segno  # only where a link is shared

    try:
        code = segno.make_qr(text, error="m")
    except segno.DataOverflowError:
        return ""
    picture = io.BytesIO()
    code.save(picture, kind="svg", scale=4, dark="#000", light="#fff", xmldecl=False)
    return picture.getvalue().decode()
