"""LeRobotDataset v3.0: written from bags, and read back into bags."""
