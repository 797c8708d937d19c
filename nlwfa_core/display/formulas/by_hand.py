"""Write out the weight of a string by hand: every matrix and every product, to be checked with a
pocket calculator.

The weight under a WFA takes α₀, one matrix product per symbol, and a sum. An NL-WFA has layers in
its maps and in its decoder, and its `Reading` determines how outputs become a weight. All numbers
are computed exactly as the models compute them, in double precision, and are rounded only when they
are written, as plain text or as formulas. Other models are not supported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import RecipeError
from ...models.model import Model
from ...models.nlwfa import NLWFA, activate
from ...models.reading import LINKS, Reading, StringReading
from ...models.wfa import WFA
from ...rounding import flush_entries
from ...strings.trie import Trie
from ...strings.words import Alphabet, FloatArray, Word, Words
from . import latex

MAX_NUMBERS = 20_000  # in a whole calculation: nobody checks more by hand
MAX_LINES = 24  # of a formula; the plain text has all lines
ROUNDING_NOTE = (
    "≈0 marks rounding errors: numbers smaller than 10⁻¹² times the largest in their matrix."
)


@dataclass(frozen=True, eq=False)
class Block:
    """Holds one intermediate result of a calculation: its name, the expression that gives it, and
    its numbers.
    """

    # name, expression: in plain text, for example "z1" and "z0 · A_a". Parameters of the model have
    # no expression.
    name: str
    expression: str
    formula: str  # "name = expression" or "name", in LaTeX
    values: FloatArray  # (rows, columns): a state is one row

    def lines(self, digits: int) -> Iterator[str]:
        """Write the block as plain text: a heading, then one line for each row of numbers."""
        rows, columns = self.values.shape
        yield (
            f"{self.name}{' = ' if self.expression else ''}{self.expression}  ({rows} × {columns})"
        )
        level = latex.rounding_level(self.values)
        cells = [[_plain(value, level, digits) for value in row] for row in self.values.tolist()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            yield "  " + "  ".join(
                cell.rjust(width) for cell, width in zip(row, widths, strict=True)
            )

    def latex(self, digits: int) -> str:
        """Write the block as LaTeX, one of the lines that `latex.aligned` takes."""
        name, equals, expression = self.formula.partition(" = ")
        numbers = latex.matrix(self.values, digits=digits)
        if max(self.values.shape) > latex.MAX_ENTRIES:
            numbers = latex.sized(self.values, numbers)
        return f"{name}&{equals.strip()}{expression}={numbers}"


@dataclass(frozen=True)
class Term:
    """Holds a term of the last line: numbers to multiply and, in `levels`, the size up to which
    each is a rounding error.
    """

    name: str
    numbers: tuple[float, ...]
    levels: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Calculation:
    """Holds the calculation of a string's weight f(x) step by step."""

    string: str  # the string x, as text
    # the parameters of the model that the string needs, in the order of their use
    parameters: tuple[Block, ...]
    steps: tuple[Block, ...]  # the intermediate results
    # those of the steps that are states: the state of the empty string, and the state after each
    # symbol
    states: tuple[Block, ...]
    terms: tuple[Term, ...]  # the terms of the last line, which gives the weight
    is_product: bool  # whether the terms are multiplied; otherwise they are added
    is_squared: bool  # whether the sum of the terms is squared
    weight: float  # f(x)
    notes: tuple[str, ...]  # sentences about anything that the formulas do not show

    @property
    def num_numbers(self) -> int:
        return sum(block.values.size for block in (*self.parameters, *self.steps))

    @property
    def has_rounding(self) -> bool:
        """Return whether some of the numbers are only rounding errors, which are written as ≈0."""
        return any(
            0 < size <= latex.rounding_level(block.values)
            for block in (*self.parameters, *self.steps)
            for size in np.abs(block.values).ravel().tolist()
        )

    def text(self, digits: int = 4) -> str:
        """Write the whole calculation as plain text, with `digits` significant digits."""
        total = (
            "product of all"
            if self.is_product
            else "square of the sum"
            if self.is_squared
            else "sum of the products"
        )
        lines = [
            f"f({self.string}), by hand",
            f"All numbers are computed in full precision and written with {digits} "
            "significant digits,",
            "so calculating with the written numbers may give different last digits.",
            *([ROUNDING_NOTE] if self.has_rounding else []),
            *self.notes,
            "",
            "PARAMETERS",
            *(line for block in self.parameters for line in block.lines(digits)),
            "",
            "STEP BY STEP",
            *(line for block in self.steps for line in block.lines(digits)),
            "",
            "THE WEIGHT",
        ]
        width = max((len(term.name) for term in self.terms), default=0)
        for term in self.terms:
            factors = " × ".join(
                _plain(*factor, digits) for factor in zip(term.numbers, term.levels, strict=True)
            )
            product = (
                f" = {_plain(float(np.prod(term.numbers)), 0.0, digits)}"
                if len(term.numbers) > 1
                else ""
            )
            lines.append(f"  {term.name.ljust(width)}  {factors}{product}")
        lines.append(f"f({self.string}) = {total} = {_plain(self.weight, 0.0, digits)}")
        return "\n".join(lines) + "\n"

    def latex(self, digits: int = 4) -> tuple[str, str, str]:
        """Write the calculation as three LaTeX formulas: parameters, steps and weight.

        Long ones are shortened in the middle.
        """
        terms = [
            r" \cdot ".join(
                _factor(latex.entry(*factor, digits))
                for factor in zip(term.numbers, term.levels, strict=True)
            )
            for term in self.terms
        ]
        total = latex.joined(terms, r"\,\cdot\," if self.is_product else " + ")
        total = rf"\bigl({total}\bigr)^2" if self.is_squared else total
        weight = [f"f(x)&={total}", f"&={latex.number(self.weight, digits)}"]
        parameters, steps = (
            [block.latex(digits) for block in blocks] for blocks in (self.parameters, self.steps)
        )
        return (
            latex.aligned(parameters, MAX_LINES),
            latex.aligned(steps, MAX_LINES),
            latex.aligned(weight, MAX_LINES),
        )


def _plain(value: float, level: float, digits: int) -> str:
    """Write a number as plain text; a number other than 0 whose size is at most `level` is a
    rounding error, ≈0.

    >>> _plain(0.25, 0.0, 4), _plain(-1 / 3, 0.0, 3), _plain(-0.0, 0.0, 4), _plain(1e-17, 1e-12, 4)
    ('0.25', '-0.333', '0', '≈0')
    """
    return "≈0" if 0 < abs(value) <= level else f"{value + 0.0:.{digits}g}"


def _factor(formula: str) -> str:
    """Put a factor in brackets if a product with it would otherwise be ambiguous."""
    return (
        f"({formula})" if formula.startswith(("-", r"{\approx}")) or "cdot" in formula else formula
    )


def by_hand(model: Model, word: Word, alphabet: Alphabet) -> Calculation:
    """Calculate the weight of a word step by step.

    Raises RecipeError if the model is neither a WFA nor an NL-WFA, or the calculation has more than
    MAX_NUMBERS numbers.
    """
    if not isinstance(model, WFA | NLWFA):
        raise RecipeError(
            "Only automata can be calculated by hand, and this model is not an automaton."
        )
    automaton = _Automaton.of(model, alphabet)
    with np.errstate(over="ignore", invalid="ignore"):
        calculation = automaton.chain(word) if automaton.reading.is_chain else automaton.sum(word)
    if calculation.num_numbers > MAX_NUMBERS:
        raise RecipeError(
            f"This calculation by hand would have {calculation.num_numbers:,} numbers; at "
            f"most {MAX_NUMBERS:,} can be written. Use "
            "a model with fewer states or a shorter string."
        )
    return calculation


Layer = tuple[str, str, FloatArray]  # a layer's name as text, its name in LaTeX, its weights
Name = tuple[str, str]  # a name as text, and in LaTeX


@dataclass(frozen=True, eq=False)
class _Automaton:
    """Represents a WFA or an NL-WFA as named layers.

    A WFA's map has one layer, A_σ; its decoder has none; its output is α∞.
    """

    model: WFA | NLWFA
    alphabet: Alphabet
    transitions: tuple[FloatArray, ...]
    decoder: tuple[FloatArray, ...]
    output: FloatArray
    reading: Reading

    @classmethod
    def of(cls, model: WFA | NLWFA, alphabet: Alphabet) -> _Automaton:
        if isinstance(model, NLWFA):
            return cls(
                model, alphabet, model.transitions, model.decoder, model.output, model.reading
            )
        return cls(
            model, alphabet, (model.transitions,), (), model.termination[:, None], StringReading()
        )

    def sum(self, word: Word) -> Calculation:
        """Write out f(word) for a model whose weight is one decoded number, or its square."""
        symbols = self.reading.path(word, self.model.num_symbols)
        output = self.output[:, :1]
        name, formula = self._output_name(r"\alpha_\infty", "α∞")
        walk = self._walk(symbols)
        decoded = self._decoded(walk[-1][-1].values, len(symbols))
        last = (decoded or walk[-1])[-1]
        levels = latex.rounding_level(last.values), latex.rounding_level(output)
        pairs = zip(last.values[0].tolist(), output[:, 0].tolist(), strict=True)
        notes = self._notes()
        if self.reading.has_end_map:
            notes.append("The end of the string, ⊣, is a symbol with a map of its own.")
        return Calculation(
            self.alphabet.decode(word),
            self._parameters(tuple(dict.fromkeys(symbols)), Block(name, "", formula, output)),
            tuple(block for part in (*walk, decoded) for block in part),
            tuple(part[-1] for part in walk),
            tuple(
                Term(f"{last.name}[{i}] × {name}[{i}]", pair, levels)
                for i, pair in enumerate(pairs, start=1)
            ),
            False,
            self.reading.link == "square",
            float(self.model.weights(Words.of([word]))[0]),
            tuple(notes),
        )

    def chain(self, word: Word) -> Calculation:
        """Write out f(word) for a model whose weight is a product of scores: one for each symbol,
        and one for the end.
        """
        assert isinstance(self.model, NLWFA)
        end = self.model.num_symbols
        symbols = (
            tuple(range(self.model.num_maps))
            if self.reading.looks_ahead
            else tuple(dict.fromkeys(word))
        )
        trie = Trie.of(Words.of([word]), end)
        scores = self.model.next_scores(trie)[trie.paths]
        # values of a softmax sum to 1 already
        divided = self.reading.normalised and self.reading.link != "softmax"
        name, formula = self._output_name(r"\mathbf{O}", "O")
        walk = self._walk(word)
        steps: list[Block] = []
        terms = []
        for t, (part, symbol) in enumerate(zip(walk, (*word, end), strict=True)):
            steps.extend(part)
            expression = f"every G_σ after z{t}, decoded"
            p_formula = rf"\mathbf{{p}}_{{{t}}}"
            if not self.reading.looks_ahead:
                decoded = self._decoded(part[-1].values, t)
                steps.extend(decoded)
                last = (decoded or part)[-1]
                last_formula = rf"\mathbf{{{last.name[0]}}}_{{{t}}}"
                output_formula = rf"\mathbf{{o}}_{{{t}}} = {last_formula}\,{formula}"
                steps.append(
                    Block(
                        f"o{t}",
                        f"{last.name} · {name}",
                        output_formula,
                        self._product(last.values, self.output),
                    )
                )
                expression = self.reading.link_phrase(f"o{t}")
                if not divided:
                    outputs = rf"\mathbf{{o}}_{{{t}}}"
                    p_formula += f" = {self.reading.link_formula(outputs)}"
            steps.append(Block(f"p{t}", expression, p_formula, scores[t].reshape(1, -1)))
            following = "end" if symbol == end else self.alphabet.symbols[symbol]
            terms.append(
                Term(
                    f"p({following} | {self.alphabet.decode(word[:t])})",
                    (float(scores[t, symbol]),),
                    (0.0,),
                )
            )
        notes = self._notes()
        notes.append(
            f"Outputs: {LINKS[self.reading.link].sentence}. The columns of p are the symbols "
            "in the alphabet's order, then the end."
        )
        if divided:
            notes.append("p holds the absolute values of the scores, divided by their sum.")
        return Calculation(
            self.alphabet.decode(word),
            self._parameters(symbols, Block(name, "", formula, self.output)),
            tuple(steps),
            tuple(part[-1] for part in walk),
            tuple(terms),
            True,
            False,
            float(np.prod([number for term in terms for number in term.numbers])),
            tuple(notes),
        )

    def _notes(self) -> list[str]:
        return ["The maps have no biases."] if isinstance(self.model, NLWFA) else []

    def _parameters(self, symbols: Sequence[int], output: Block) -> tuple[Block, ...]:
        """Make the blocks of the parameters: α₀, the layers of the symbols' maps, the layers of the
        decoder, and the output.
        """
        layers = [layer for symbol in symbols for layer in self._map(symbol)] + self._hidden()
        initial = Block("α₀ᵀ", "", r"\alpha_0^\top", self.model.initial.reshape(1, -1))
        return (
            initial,
            *(Block(name, "", formula, weights) for name, formula, weights in layers),
            output,
        )

    def _map(self, symbol: int) -> list[Layer]:
        """Return the layers of a symbol's map: the matrix A_σ alone, or the layers of the network
        G_σ.
        """
        is_end = symbol == self.model.num_symbols
        name = "⊣" if is_end else self.alphabet.symbols[symbol]
        formula = r"\dashv" if is_end else latex.text(name)
        if len(self.transitions) == 1 and not self._tanh_in_maps:
            return [(f"A_{name}", rf"\mathbf{{A}}_{{{formula}}}", self.transitions[0][symbol])]
        return [
            (f"G_{name},{number}", rf"\mathbf{{G}}_{{{formula}}}^{{({number})}}", layer[symbol])
            for number, layer in enumerate(self.transitions, start=1)
        ]

    def _hidden(self) -> list[Layer]:
        return [
            (f"C,{number}", rf"\mathbf{{C}}^{{({number})}}", layer)
            for number, layer in enumerate(self.decoder, start=1)
        ]

    def _output_name(self, linear_formula: str, linear_name: str) -> Name:
        """Return the name of the last layer: `linear_name` if the layer is applied to states, D if
        to a hidden layer.
        """
        return (linear_name, linear_formula) if not self.decoder else ("D", r"\mathbf{D}")

    @property
    def _tanh_in_maps(self) -> bool:
        return isinstance(self.model, NLWFA) and self.model.nonlinear_transitions

    def _walk(self, symbols: Sequence[int]) -> list[list[Block]]:
        """Make the blocks from each state to the next, beginning with z0 alone.

        The last block of each list is a state.
        """
        trie = Trie.of(Words.of([tuple(symbols)]), len(self.transitions[0]))
        states = self.model.states(trie)[trie.paths]
        parts = [[Block("z0", "α₀ᵀ", r"\mathbf{z}_0 = \alpha_0^\top", states[:1])]]
        for t, symbol in enumerate(symbols, start=1):
            before, after = ((f"z{number}", rf"\mathbf{{z}}_{{{number}}}") for number in (t - 1, t))
            *steps, last = _layers(
                states[t - 1 : t], before, self._map(symbol), self._tanh_in_maps, after
            )
            # The state is the model's: components that are only rounding errors are exactly 0.
            parts.append(
                [*steps, Block(last.name, last.expression, last.formula, states[t : t + 1])]
            )
        return parts

    def _decoded(self, state: FloatArray, t: int) -> list[Block]:
        """Make the blocks of the decoder's hidden layers for the state after t symbols; empty if
        there are none.
        """
        before = (f"z{t}", rf"\mathbf{{z}}_{{{t}}}")
        after = (f"h{t}", rf"\mathbf{{h}}_{{{t}}}")
        tanh = isinstance(self.model, NLWFA) and self.model.nonlinear_termination
        return list(_layers(state, before, self._hidden(), tanh, after))

    def _product(self, hidden: FloatArray, columns: FloatArray) -> FloatArray:
        """Multiply by the last layer; outputs that are only rounding errors become exactly 0."""
        return flush_entries(hidden @ columns, hidden, np.abs(columns))


def _layers(
    state: FloatArray, name: Name, layers: Sequence[Layer], tanh: bool, result: Name
) -> Iterator[Block]:
    """Apply layers to a state, with a block for each product and each tanh.

    The last block has the name `result`; the blocks of earlier layers are named result,1, result,2,
    ….
    """
    for number, (layer, layer_formula, weights) in enumerate(layers, start=1):
        after = (
            result
            if number == len(layers)
            else (f"{result[0]},{number}", rf"{result[1]}^{{({number})}}")
        )
        expression = f"{name[0]} · {layer}"
        formula = rf"{name[1]}\,{layer_formula}"
        state = state @ weights
        if tanh:
            yield Block(f"{after[0]} before tanh", expression, rf"\mathbf{{y}} = {formula}", state)
            state = activate(state, True)
            expression = "tanh of that"
            formula = r"\tanh\mathbf{y}"
        yield Block(after[0], expression, f"{after[1]} = {formula}", state)
        name = after
