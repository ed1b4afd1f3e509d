"""Vision-language models as planner and monitor."""
