"""Links for other people: the address that they can open, and a QR code that a phone reads."""

from __future__ import annotations

import re

import pytest

from nlwfa_core.display import addresses

LOCAL = "http://localhost:8501/hankel?rank=3&string=%5B%5B%5D%5D"


@pytest.mark.parametrize(
    ("link", "listens_on", "lan", "shared", "warning"),
    [
        (LOCAL, "", "192.168.1.7", LOCAL.replace("localhost", "192.168.1.7"), ""),
        (LOCAL, "0.0.0.0", "192.168.1.7", LOCAL.replace("localhost", "192.168.1.7"), ""),
        ("http://[::1]:8501/?rank=3", "::", "10.0.0.2", "http://10.0.0.2:8501/?rank=3", ""),
        ("http://127.0.0.1/?rank=3", "", "10.0.0.2", "http://10.0.0.2/?rank=3", ""),
        (LOCAL, "localhost", "192.168.1.7", LOCAL, "the lab listens on localhost only"),
        (LOCAL, "127.0.0.1", "", LOCAL, "the lab listens on 127.0.0.1 only"),
        (LOCAL, "", "", LOCAL, "in place of localhost"),
        # behind a proxy
        ("https://lab.example.org/train", "127.0.0.1", "", "https://lab.example.org/train", ""),
        ("http://192.168.1.7:8501/", "", "10.0.0.2", "http://192.168.1.7:8501/", ""),
    ],
)
def test_a_link_has_an_address_that_others_can_open(
    link: str, listens_on: str, lan: str, shared: str, warning: str
) -> None:
    address, said = addresses.shared_link(link, listens_on, lan)
    assert address == shared and (warning in said if warning else said == "")


def test_a_machine_without_a_network_has_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> None:
        raise OSError("Network is unreachable")

    assert not addresses.is_this_machine(addresses.lan_address() or "192.0.2.2")
    monkeypatch.setattr(addresses.socket, "socket", lambda *_: Probe(unreachable))
    assert addresses.lan_address() == ""


class Probe:
    def __init__(self, connect: object) -> None:
        self.connect = connect

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_a_qr_code_has_three_finders_and_a_quiet_zone() -> None:
    """Drawn again from its lines: ISO/IEC 18004 puts a square of seven modules into three corners,
    and four light ones around.
    """
    picture = addresses.qr_code(LOCAL)
    size = int(re.findall(r"M0 0h(\d+)v", picture)[0])
    modules = [[False] * size for _ in range(size)]
    x = y = 0.0
    for letter, first, second in re.findall(
        r"([Mmh]) ?(-?[\d.]+)(?: (-?[\d.]+))?",
        re.findall(r'qrline" stroke="#000" d="(.*?)"', picture)[0],
    ):
        if letter == "h":
            for column in range(int(x), int(x) + int(first)):
                modules[int(y)][column] = True
            x += int(first)
        else:
            x, y = (
                (float(first), float(second))
                if letter == "M"
                else (x + float(first), y + float(second))
            )
    assert not any(any(row[:4] + row[-4:]) for row in modules) and not any(
        map(any, modules[:4] + modules[-4:])
    )
    finder = ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"]
    for top, left in ((4, 4), (4, size - 11), (size - 11, 4)):
        found = [
            "".join("01"[dark] for dark in row[left : left + 7]) for row in modules[top : top + 7]
        ]
        assert found == finder
    assert addresses.qr_code("x" * 4000) == ""
