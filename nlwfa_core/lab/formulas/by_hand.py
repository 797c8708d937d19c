"""A string's weight written out, every matrix and every product, so that it can be checked on paper with a pocket calculator.

A WFA is α₀, a product a symbol, and a sum; an NL-WFA each layer of its maps and of its decoder. Other models are not written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...errors import RecipeError
from ...models.model import Model
from ...models.nlwfa import LINKS, NLWFA, activate
from ...models.wfa import WFA
from ...rounding import flush_product
from ...strings.trie import Trie
from ...strings.words import Alphabet, FloatArray, Word, Words
from .calculation import Block, Calculation, cleaned

MAX_NUMBERS = 20_000  # written in all: beyond that nobody checks anything by hand
LINKED = {"identity": "{}", "square": "{} squared", "softmax": "softmax of {}"}
PLAIN = frozenset("[]()+-*/=.,:;|")  # single characters that mean nothing to LaTeX; so do ASCII letters and digits


def by_hand(model: Model, word: Word, alphabet: Alphabet) -> Calculation:
    """Write f(word) out.

    Raises
    ------
    RecipeError
        If the model is neither a WFA nor an NL-WFA, or more than MAX_NUMBERS numbers would be written.
    """
    if isinstance(model, WFA):
        found = _linear(model, word, alphabet)
    elif isinstance(model, NLWFA):
        found = (
            _chained(model, word, alphabet) if model.reading == "conditional" or model.normalised else _map(model, word, alphabet)
        )
    else:
        raise RecipeError("Only automata are written out by hand; this model is none.")
    if found.num_numbers > MAX_NUMBERS:
        raise RecipeError(
            f"By hand, this would be {found.num_numbers:,} numbers; up to {MAX_NUMBERS:,} are written. Take fewer states or a "
            "shorter string."
        )
    return found


def symbol_legend(alphabet: Alphabet, word: Word) -> dict[str, str]:
    """How formulas call the string's symbols that LaTeX could take for commands: σ₃ -> "<b>"."""
    return {f"σ{symbol + 1}": alphabet.symbols[symbol] for symbol in dict.fromkeys(word) if not _is_safe(alphabet.symbols[symbol])}


def _is_safe(text: str) -> bool:
    return text in PLAIN or (text.isascii() and text.isalnum())


def _tex(symbol: int, alphabet: Alphabet) -> str:
    text = alphabet.symbols[symbol]
    return rf"\texttt{{{text}}}" if _is_safe(text) else rf"\sigma_{{{symbol + 1}}}"


def _row(values: FloatArray) -> FloatArray:
    return values.reshape(1, -1)


def _linear(model: WFA, word: Word, alphabet: Alphabet) -> Calculation:
    given = [Block("α₀ᵀ", "", r"\alpha_0^\top", _row(model.initial))]
    for symbol in dict.fromkeys(word):
        name = _tex(symbol, alphabet)
        given.append(Block(f"A_{alphabet.symbols[symbol]}", "", rf"\mathbf{{A}}_{{{name}}}", model.transitions[symbol]))
    given.append(Block("α∞", "", r"\alpha_\infty", model.termination.reshape(-1, 1)))
    state = _row(model.initial)
    steps = [Block("z0", "α₀ᵀ", r"\mathbf{z}_0 = \alpha_0^\top", state)]
    for place, symbol in enumerate(word, start=1):
        state = flush_product(state, model.transitions[symbol])
        made = rf"\mathbf{{z}}_{{{place}}} = \mathbf{{z}}_{{{place - 1}}}\mathbf{{A}}_{{{_tex(symbol, alphabet)}}}"
        steps.append(Block(f"z{place}", f"z{place - 1} · A_{alphabet.symbols[symbol]}", made, state))
    factors = _dot(state[0], model.termination, f"z{len(word)}", "α∞")
    weight = float(flush_product(state, model.termination[:, None])[0, 0])
    return Calculation(alphabet.decode(word), tuple(given), tuple(steps), "sum of the products", factors, weight, ())


def _dot(row: FloatArray, column: FloatArray, left: str, right: str) -> tuple[tuple[str, tuple[float, ...]], ...]:
    pairs = zip(cleaned(row).tolist(), cleaned(column).tolist(), strict=True)
    return tuple((f"{left}[{place}] × {right}[{place}]", pair) for place, pair in enumerate(pairs, start=1))


def _maps(model: NLWFA, symbols: Sequence[int], alphabet: Alphabet, output_shown: FloatArray) -> tuple[Block, ...]:
    """What is given: α₀, the layers of some maps, the decoder's, and the output's columns."""
    given = [Block("α₀ᵀ", "", r"\alpha_0^\top", _row(model.initial))]
    for symbol in symbols:
        name, tex = _map_name(model, symbol, alphabet)
        for layer, weights in enumerate(model.transitions, start=1):
            given.append(Block(f"{name},{layer}", "", rf"\mathbf{{G}}_{{{tex}}}^{{({layer})}}", weights[symbol]))
    for layer, weights in enumerate(model.decoder, start=1):
        given.append(Block(f"C,{layer}", "", rf"\mathbf{{C}}^{{({layer})}}", weights))
    given.append(Block("D", "", r"\mathbf{D}", output_shown))
    return tuple(given)


def _map_name(model: NLWFA, symbol: int, alphabet: Alphabet) -> tuple[str, str]:
    if symbol == len(alphabet):
        return "G_⊣", r"\dashv"
    return f"G_{alphabet.symbols[symbol]}", _tex(symbol, alphabet)


def _layers(
    state: FloatArray, name: str, tex: str, layers: Sequence[tuple[str, str, FloatArray]], tanh: bool, result: tuple[str, str]
) -> Iterator[Block]:
    """One block for each product and, where there is one, for tanh; the last block is called `result`."""
    for index, (layer, layer_tex, weights) in enumerate(layers):
        last = index == len(layers) - 1
        product = state @ weights
        final = result if last else (f"{result[0]},{index + 1}", rf"{result[1]}^{{({index + 1})}}")
        if tanh:
            raw = f"{final[0]} before tanh"
            yield Block(raw, f"{name} · {layer}", rf"\mathbf{{y}} = {tex}\,{layer_tex}", product)
            state = activate(product, True)
            yield Block(final[0], "tanh of that", rf"{final[1]} = \tanh \mathbf{{y}}", state)
        else:
            state = product
            yield Block(final[0], f"{name} · {layer}", rf"{final[1]} = {tex}\,{layer_tex}", state)
        name, tex = final


def _walk(model: NLWFA, symbols: Sequence[int], alphabet: Alphabet) -> list[list[Block]]:
    """z0, and what leads to each state behind it; the last block of each list is that state."""
    parts = [[Block("z0", "α₀ᵀ", r"\mathbf{z}_0 = \alpha_0^\top", _row(model.initial))]]
    for place, symbol in enumerate(symbols, start=1):
        name, tex = _map_name(model, symbol, alphabet)
        layers = [
            (f"{name},{layer}", rf"\mathbf{{G}}_{{{tex}}}^{{({layer})}}", weights[symbol])
            for layer, weights in enumerate(model.transitions, start=1)
        ]
        before = (f"z{place - 1}", rf"\mathbf{{z}}_{{{place - 1}}}")
        result = (f"z{place}", rf"\mathbf{{z}}_{{{place}}}")
        parts.append(list(_layers(parts[-1][-1].values, *before, layers, model.nonlinear_transitions, result)))
    return parts


def _decoded(model: NLWFA, state: FloatArray, place: int) -> list[Block]:
    layers = [(f"C,{layer}", rf"\mathbf{{C}}^{{({layer})}}", weights) for layer, weights in enumerate(model.decoder, start=1)]
    before, result = (f"z{place}", rf"\mathbf{{z}}_{{{place}}}"), (f"h{place}", rf"\mathbf{{h}}_{{{place}}}")
    return list(_layers(state, *before, layers, model.nonlinear_termination, result))


def _map(model: NLWFA, word: Word, alphabet: Alphabet) -> Calculation:
    """Readings whose weight is one decoded number."""
    symbols = (*word, *((len(alphabet),) if model.reading == "boundary" else ()))
    given = _maps(model, list(dict.fromkeys(symbols)), alphabet, model.termination.reshape(-1, 1))
    parts = _walk(model, symbols, alphabet)
    place = len(symbols)
    parts.append(_decoded(model, parts[-1][-1].values, place))
    last = parts[-1][-1] if parts[-1] else parts[-2][-1]
    factors = _dot(last.values[0], model.termination, last.name, "D")
    value = float(last.values[0] @ model.termination)
    notes = ["The maps have no biases."]
    if model.reading == "boundary":
        notes.append("The end of the string, ⊣, is a symbol with a map of its own.")
    squared = model.link == "square"
    steps = tuple(block for part in parts for block in part)
    how = "square of the sum" if squared else "sum of the products"
    return Calculation(alphabet.decode(word), given, steps, how, factors, value**2 if squared else value, tuple(notes))


def _chained(model: NLWFA, word: Word, alphabet: Alphabet) -> Calculation:
    """Readings whose weight is the product of what is said to come next."""
    conditional, end = model.reading == "conditional", len(alphabet)
    symbols = list(dict.fromkeys(word)) if conditional else range(model.num_maps)
    given = _maps(model, list(symbols), alphabet, model.output)
    scores = model.next_scores(trie := Trie.of(Words.of([word]), model.num_symbols))[trie.paths]
    parts = _walk(model, word, alphabet)
    steps: list[Block] = []
    factors = []
    for place, part in enumerate(parts):
        steps.extend(part)
        symbol = word[place] if place < len(word) else end
        state = part[-1].values
        if conditional:
            steps.extend(decoded := _decoded(model, state, place))
            last = decoded[-1] if decoded else part[-1]
            raw = last.values @ model.output
            tex = rf"\mathbf{{o}}_{{{place}}} = \mathbf{{h}}_{{{place}}}\mathbf{{D}}"
            steps.append(Block(f"o{place}", f"{last.name} · D", tex, raw))
        shown = scores[place]
        made = LINKED[model.link].format(f"o{place}") if conditional else f"every G_σ after z{place}, decoded"
        steps.append(Block(f"p{place}", made, rf"\mathbf{{p}}_{{{place}}}", _row(shown)))
        name = "end" if symbol == end else alphabet.symbols[symbol]
        factors.append((f"p({name} | {alphabet.decode(word[:place])})", (float(scores[place, symbol]),)))
    weight = float(np.prod([value for _, (value,) in factors]))
    notes = ["The maps have no biases.", f"Outputs: {LINKS[model.link]}. In p: each symbol in the alphabet's order, the end last."]
    if model.normalised:
        notes.append("p: absolute values of that, divided by their sum.")
    return Calculation(alphabet.decode(word), given, tuple(steps), "product of all", tuple(factors), weight, tuple(notes))
