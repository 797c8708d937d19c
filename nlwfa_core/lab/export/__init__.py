"""What a person takes home from a run: programs, model files, automata as text, a report."""
