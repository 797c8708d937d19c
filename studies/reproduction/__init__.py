"""Run the experiments of Li, Rabusseau and Precup (2018), section 5, again.

Modules in reading order:

- `experiments`: plans the runs of each experiment, with the settings of its learners, and does
  those that are missing;
- `squared`: measures the error on squared functions, the only experiment without strings;
- `prefixes`: computes word error rates on the prefixes of a competition, by each of four
  definitions;
- `claims`: the paper's claims about NL-WFA and SP, and whether the runs agree with them, by paired
  differences between seeds;
- `pages`: writes Markdown pages with tables and figures (longer explanations are in `reasons.md`).

The command is `nlwfa reproduce`. The *refined settings* are those that docs/best.md found to help.
"""
