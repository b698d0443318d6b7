"""Runs of `hoptrail evaluate` beside each other: means with intervals, paired tests, tables and plots."""
