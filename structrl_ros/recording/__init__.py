"""Recording: bags in and out, traces and films of a run."""
