"""The five systems, and the baselines that their papers compare them with, as recipes over the engine (`hoptrail`)."""
