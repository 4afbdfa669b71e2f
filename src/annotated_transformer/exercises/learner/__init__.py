"""What a learner calls in a notebook (`lessons`), and the record of what was done (`records`)."""
