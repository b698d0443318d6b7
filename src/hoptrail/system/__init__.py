"""What the operating system gives: files, signals, variables of the environment, and errors of exhaustion."""
