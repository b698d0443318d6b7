"""What is built once per corpus and stored, one file each."""
