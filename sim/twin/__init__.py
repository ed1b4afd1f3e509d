"""The kinematic twin of the tabletop: thousands of episodes a CPU-second, in numpy alone."""
