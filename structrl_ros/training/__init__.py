"""One readable file a trainer; rollouts, reward sources, checkpoints of a run."""
