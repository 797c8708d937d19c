"""The paper's experiments again: what runs there are, running those that are missing, and the pages about them."""
