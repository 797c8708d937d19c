"""Why runs can differ from the paper: what it does not say, and what is done here. No measured number stands here."""

from __future__ import annotations

COMMON = (
    "The paper does not say how long its networks were trained, from which weights, and how H was scaled. Here: 1,000 and "
    "500 epochs, Glorot-uniform weights, H divided by its largest entry.",
    "The paper does not say how a nonlinear model of string probabilities predicts the next symbol. Here: the decoded row "
    "of uσ, summed over the basis's suffixes; for the end, f(u). For SP, the exact prefix sum (I − A)⁻¹. WER counts the end "
    "of the string as a symbol; the CSV file has it without, too.",
    "The paper's log(Pauto) has no base. The figures here are log₂.",
)
DYCK = (
    "The reading of the next symbol is not why SP's WER is low: read by the same row sum as the nonlinear learners, SP has "
    "nearly the same one, see [the measurement](README.md#how-the-next-symbol-is-read). What is left: epochs, initial weights, "
    "the scaling of H, none of which the paper states.",
    "Under the paper's settings SP gives every string deeper than its states reach the weight 0, because H_λ falls into parts by "
    "bracket depth, so its Pautomac score is ∞. The paper's scores are finite, and it does not say what was done with zeros. "
    "Most likely they were never seen: floating point leaves 10⁻¹⁶ to 10⁻¹⁷⁵ of them, of either sign, unless something looks. "
    "After such a prefix every symbol has score 0, too. These predictions are ties, and WER counts their expected error.",
    "250 test strings are a small test set, and each seed draws its own: log₂ Pauto moves with the draw by more than it "
    "does from learner to learner. The second figure takes the true model's score on the same strings away; that is the "
    "Kullback–Leibler divergence over them.",
)
SAMPLES = (
    "The paper chooses ranks by cross-validation, and does not say by which score, nor from which ranks. Here: 250 "
    "validation strings of their own for each seed, and the score that the figure shows. A small sample so gets more "
    "strings for its choice than it has for learning.",
)
VERBS = (
    "The paper trained on all 5,987 strings and used the challenge's two sets of 750 for choice and test. Here the training "
    "part is the file given with --train; each seed holds another tenth of it out. The rank is the one of the lowest mean "
    "WER on the held-out parts (cross-validation by repeated random splits); all numbers are on the strings given with "
    "--validation, which choose nothing.",
    "All test strings differ, so P* is the same for each, and the best possible score belongs to equal weights for all of "
    "them. The Pautomac score rewards flat outputs here, not good ones: read WER, and bits per symbol.",
    "SP gives a string 0 where it holds a symbol whose block H_σ is empty: its score is ∞. The paper's is finite.",
)
SQUARED = (
    "f is a random automaton with entries ≥ 0, two symbols and k states, so the root of f² is f, of rank k. H is exact: all "
    "prefixes and suffixes of up to 4 symbols. The error is on 1,000 random strings of 10 to 13 symbols, divided by that of "
    "a model of zeros.",
    "The paper makes the claim by a construction (§3) and runs no experiment. A numerical rank counts the singular values "
    "above rounding; that of f² can be below k (k + 1) / 2, since small singular values of f are smaller still when "
    "squared.",
    "fac.non's hidden units are tanh, so its squares are approximations; how good they get is a matter of training.",
)
