"""
Your own data, from a CSV file
==============================

Learn an automaton from a file of sentences and counts, and predict the next word.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from nlwfa_core import fit, plot, read_strings

with TemporaryDirectory() as folder:
    path = Path(folder, "sentences.csv")
    path.write_text(
        "the dog ran,27\nthe cat sat,13\na dog sat,5\na cat ran,8\nthe dog,4\n", encoding="utf-8"
    )
    train = read_strings(path).sample()
print(train.num_strings, "strings over", train.alphabet.symbols)
model = fit(train, "SP", rank=5).model
print({symbol: round(share, 3) for symbol, share in model.next("the").items()})
plot.automaton(model, smallest=0.3)
