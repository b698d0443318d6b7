"""Triples by rules, for the recipes that search them: of sentences, over a parse, and of questions with open slots."""
