"""A bank of tasks with fresh numbers from a seed, each with its worked solution.

- `bank`: kinds of tasks, read from Markdown with placeholders, and the task of a kind and a seed.
- `writing`: numbers and matrices as the text that takes the place of placeholders.
- `sample_tasks`, `automaton_tasks`, `probability_tasks`, `language_tasks`, `score_tasks`,
  `network_tasks`: the generators. Each takes a source of random numbers and returns texts by name.
  Their numbers are small or simple fractions, for pencil and paper.

A file names a generator; text is replaced, never executed.
"""
