"""Weights only: hoptrail finds them in this folder and never imports the package."""
