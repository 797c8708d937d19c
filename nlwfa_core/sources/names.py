"""The names of sources of strings and of formats of files, in a module that recipes can import
cheaply.
"""

from __future__ import annotations

SOURCES = {
    "dyck": "Brackets from the grammar S → SS | [S] | [].",
    "tomita": "Strings of a small regular language, one of Tomita's seven.",
    "automaton": "Strings from a random probabilistic automaton.",
    "hmm": "Strings from a random hidden Markov model: the next state does not depend on the "
    "symbol that is emitted.",
    "pfa": "Strings from a random probabilistic automaton in which each state has few likely "
    "moves.",
    "pdfa": "Strings from a random deterministic automaton: a state and a symbol determine the "
    "next state.",
    "squared": "Strings from the square of a random automaton, whose rank is far higher than that "
    "of the automaton itself.",
    "verbs": "English verb forms, letter by letter.",
    "upload": "Your own strings: upload them on the Data page.",
}
# sources that draw their automaton, too
RANDOM = ("automaton", "hmm", "pfa", "pdfa", "squared")
FORMATS = ("auto", "pautomac", "characters", "tokens", "csv", "json")
