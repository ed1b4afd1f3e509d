"""Networks and model servers behind the ports.

May enter: torch, transformers, HTTP clients, imported where they are used; no ROS, no simulator.
Reached as `structrl_ros.models` alone; weights are safetensors, never pickles.
"""
