"""The experiments of Li, Rabusseau and Precup (2018), section 5, run again.

Modules in reading order:

- `experiments`: the experiments as plans of runs, the settings of their learners, and measuring the runs that are missing;
- `squared`: the error on squared functions, the one experiment without strings;
- `prefixes`: word error rates on the prefixes of a competition, in four readings;
- `claims`: what the paper says about NL-WFA and SP, and whether the runs agree, by paired differences between seeds;
- `pages`: Markdown pages with tables and figures (their prose is in `reasons.md`).

`nlwfa reproduce` is the command. How the refined settings were chosen is not decided here: they are those of `--preset best`.
"""
