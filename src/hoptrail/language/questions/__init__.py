"""What a question asks: its sub-questions, the sides that it compares or offers, the time that it asks for."""
