"""SUNAR: neighbourhoods of passages and semantic uncertainty."""
