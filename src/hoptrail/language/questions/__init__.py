"""What a message asks: its questions, their sub-questions, the sides that they compare, their time, what they point back to."""
