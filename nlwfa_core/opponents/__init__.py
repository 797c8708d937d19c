"""Models that the lab's learners are held against: a hidden Markov model learned by EM, recurrent networks; one table of names."""
