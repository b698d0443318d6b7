"""Trains the reader that ships: it finds the words that answer a question, says yes or no, and says whether a text helps."""
