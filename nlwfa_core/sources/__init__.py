"""Where strings come from: files, grammars, random automata."""
