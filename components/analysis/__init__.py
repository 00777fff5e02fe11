"""Why rollouts fail, whether the trained model is better, and what to make more of."""
