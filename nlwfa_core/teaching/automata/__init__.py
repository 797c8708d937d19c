"""Handle weighted automata that a person draws, and compute facts about them.

- `draft`: the tables of states and arrows, with their mistakes, as an automaton, as text and in a
  link.
- `examples`: automata to begin with.
- `facts`: the Hankel matrix of an automaton, its rank, whether it is a probability distribution,
  what a state is needed for.
- `challenges`: languages to build an automaton for, read from Markdown, and the check of an attempt
  by equivalence.
- `learning_back`: strings drawn from an automaton as a source of the lab, and how many of them
  spectral learning needs.
- `asking`: how a learner finds an automaton by questions, counterexample by counterexample.
- `merging_stages`: how one is found by merging the states of a prefix tree, choice by choice.
- `automaton_files`: automata from files, and as files.
"""
