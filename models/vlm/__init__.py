"""Vision-language models as planner and monitor.

May enter: transformers and HTTP clients; prompts are versioned files in `prompts/`.
A planner answers text, a monitor a judgement; plans are parsed in `plan` alone.
"""
