"""What a question asks, by rules over its words alone: its kind, its plain wording, its sub-questions."""
