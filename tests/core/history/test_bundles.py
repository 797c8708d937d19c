"""Bundles of runs: there and back, and what is not taken in."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlwfa_core import limits
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.pipeline import run
from nlwfa_core.experiment.results import load_result, save_result
from nlwfa_core.history import bundles
from nlwfa_core.history.bundles import Imported, export_runs, import_runs
from nlwfa_core.history.listing import Query, list_runs
from nlwfa_core.history.owners import OwnList
from nlwfa_core.history.runs import History
from nlwfa_core.models.wfa import WFA
from tests.core.small import all_runs, recipe_of, run_of

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Two runs, one with a name."""
    home = tmp_path_factory.mktemp("home")
    keys = [recipe_of(seed=seed).key() for seed in (1, 2)]
    for seed in (1, 2):
        save_result(home / "runs" / recipe_of(seed=seed).key(), run(recipe_of(seed=seed)))
    history = History.open(home)
    history.rebuild(home / "runs")
    history.rename(keys[0], "first <b>")
    history.tag(keys[0], ["class"])
    return export_runs(home, history, keys)


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History.open(tmp_path)


def files_of(data: bytes) -> Files:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files: Files) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_a_person_exports_the_runs_of_their_own_list_under_their_own_names(
    tmp_path: Path, history: History, bundle: bytes
) -> None:
    """Ada's bundle has nothing of Bob's: neither his runs nor what he or the lab calls hers.

    An import is on nobody's own list.
    """
    import_runs(tmp_path, history, bundle)
    first, second = (recipe_of(seed=seed).key() for seed in (1, 2))
    ada = OwnList(history, "ada")
    bob = OwnList(history, "bob")
    assert not list_runs(history, Query(owner="ada")).runs
    ada.add([first])
    bob.add([first, second])
    ada.rename(first, "ada's")
    bob.rename(first, "bob's")
    bob.tag(first, ["secret"])
    files = files_of(export_runs(tmp_path, history, [first], "ada"))
    assert json.loads(files["bundle.json"])["runs"] == {first: {"name": "ada's", "tags": []}}
    everything = b"".join(files.values())
    assert not any(
        text in everything for text in (b"bob", b"secret", b"first <b>", second.encode())
    )
    for keys in ([second], [first, second]):
        with pytest.raises(
            RecipeError, match=r"Only finished runs of your list can go into a bundle\."
        ):
            export_runs(tmp_path, history, keys, "ada")
    ada.delete([first])
    with pytest.raises(RecipeError, match="of your list"):
        export_runs(tmp_path, history, [first], "ada")
    # Ada's deletion is hers alone
    assert files_of(export_runs(tmp_path, history, [first, second], "bob"))


def test_there_and_back(tmp_path: Path, history: History, bundle: bytes) -> None:
    keys = tuple(recipe_of(seed=seed).key() for seed in (1, 2))
    assert import_runs(tmp_path, history, bundle) == Imported(keys, ())
    row = run_of(history, keys[0])
    assert row is not None and (row.name, row.tags, row.state) == ("first <b>", ["class"], "done")
    there = load_result(tmp_path / "runs" / keys[0])
    here = run(recipe_of(seed=1))
    assert isinstance(there.model, WFA) and isinstance(here.model, WFA)
    np.testing.assert_array_equal(there.model.transitions, here.model.transitions)
    assert there.scores == here.scores
    history.rename(keys[0], "mine")
    assert import_runs(tmp_path, history, bundle) == Imported((), keys)
    row = run_of(history, keys[0])
    assert row is not None and row.name == "mine"


def spoil(files: Files, how: str) -> Files:
    first, second = (recipe_of(seed=seed).key() for seed in (1, 2))
    listing = json.loads(files["bundle.json"])
    result = json.loads(files[f"runs/{first}/result.json"])
    if how == "traversal":
        return files | {"runs/../../evil": b"x"}
    if how == "absolute":
        return files | {"/tmp/evil": b"x"}
    if how == "another file":
        return files | {f"runs/{first}/evil.py": b"x"}
    if how == "wrong key":
        return {
            name.replace(first, "0" * 64): data.replace(first.encode(), b"0" * 64)
            for name, data in files.items()
        }
    if how == "missing file":
        return {name: data for name, data in files.items() if name != f"runs/{second}/model.json"}
    if how == "not listed":
        del listing["runs"][first]
    if how == "future":
        listing["format"] = 2
    if how == "label":
        listing["runs"][first]["tags"] = "class"
    if how == "no tags":
        listing["runs"][first]["tags"] = 3
    if how == "score":
        result["scores"]["wer"] = [0.1]
    if how == "no words":
        result["scores"]["num_words"] = 0
    if how == "note":
        result["notes"] = [{"evil": 1}]
    return files | {
        "bundle.json": json.dumps(listing).encode(),
        f"runs/{first}/result.json": json.dumps(result).encode(),
    }


PLACES = ("traversal", "absolute", "another file", "wrong key", "missing file")
CONTENTS = ("not listed", "future", "label", "no tags", "score", "no words", "note")


@pytest.mark.parametrize("how", [*PLACES, *CONTENTS])
def test_what_is_not_sound_changes_nothing(
    tmp_path: Path, history: History, bundle: bytes, how: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RecipeError):
        import_runs(tmp_path, history, packed(spoil(files_of(bundle), how)))
    assert all_runs(history) == [] and sorted(tmp_path.rglob("*")) == before


def test_a_bomb_is_not_unpacked(
    tmp_path: Path, history: History, bundle: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = files_of(bundle)
    key = recipe_of(seed=1).key()
    monkeypatch.setattr(bundles, "MAX_BYTES", 10_000_000)
    bomb = packed(files | {f"runs/{key}/model.safetensors": bytes(50_000_000)})
    assert len(bomb) < 1_000_000
    with pytest.raises(RecipeError, match="must be at most 10,000,000 bytes; got"):
        import_runs(tmp_path, history, bomb)
    lying = bomb.replace((50_000_000).to_bytes(4, "little"), (500).to_bytes(4, "little"))
    with pytest.raises(RecipeError):
        import_runs(tmp_path, history, lying)


def test_a_bundle_is_an_upload_like_others(
    tmp_path: Path, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(limits.IN_FORCE, "file_bytes", 10)
    with pytest.raises(RecipeError, match="the file must be at most 10 bytes; got 11"):
        import_runs(tmp_path, history, bytes(11))


@pytest.fixture(scope="module")
def untouched(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[], tuple[Path, History]]]:
    """Gives a folder, with its history, into which nothing has been taken.

    To make a new one takes most of an example's time.
    """
    places: list[tuple[Path, History]] = []

    def place() -> tuple[Path, History]:
        if (
            not places
            or places[-1][0].joinpath("runs").exists()
            or list_runs(places[-1][1], Query()).total
        ):
            home = tmp_path_factory.mktemp("home")
            places.append((home, History.open(home)))
        return places[-1]

    yield place
    for _, history in places:
        history.close()


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_bundles_are_refused_or_read(
    untouched: Callable[[], tuple[Path, History]], bundle: bytes, data: st.DataObject
) -> None:
    home, history = untouched()
    place = data.draw(st.integers(0, len(bundle) - 1))
    damaged = bytearray(bundle)
    damaged[place] ^= data.draw(st.integers(1, 255))
    try:
        import_runs(home, history, bytes(damaged[: data.draw(st.integers(place, len(bundle)))]))
    except RecipeError:
        assert not (home / "runs").exists()
        assert not list_runs(history, Query()).total


def test_only_finished_runs_go_out(tmp_path: Path, history: History) -> None:
    with pytest.raises(RecipeError, match="finished"):
        export_runs(tmp_path, history, ["0" * 64])


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_methods_are_refused(
    tmp_path: Path, history: History, bundle: bytes, method: int
) -> None:
    """Any file of a bundle, not only the first: these methods unpack slowly, and into more
    memory.
    """
    for compressed in files_of(bundle):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files_of(bundle).items():
                archive.writestr(name, data, method if name == compressed else zipfile.ZIP_DEFLATED)
        with pytest.raises(RecipeError, match="must be stored or deflated"):
            import_runs(tmp_path, history, buffer.getvalue())
        assert not all_runs(history) and not (tmp_path / "runs").exists()
