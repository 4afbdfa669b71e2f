"""The interview: one bank of questions, from which pages, rounds, cards and boxes are made."""
