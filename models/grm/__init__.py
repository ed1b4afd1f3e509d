"""Networks of the GRM of Robo-Dopamine 2.0, behind `ports.ProgressModel`."""
