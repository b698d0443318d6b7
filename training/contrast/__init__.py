"""Minimal pairs: two examples that differ in one thing, which decides whether the text answers the question.

`made` writes pairs by program, `changed` makes them of statements of the training sets, `worlds` reads those written by hand.
Every text is one statement or a few, under a title and headings, as the reader reads them when it answers.
"""
