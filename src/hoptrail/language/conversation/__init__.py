"""What people mean in a conversation: the questions of a message, and what points back to earlier questions and answers."""
