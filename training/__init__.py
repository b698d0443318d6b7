"""Trains the reader that ships: which words of a block answer a question, whether it says yes or no, whether it helps."""
