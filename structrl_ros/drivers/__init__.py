"""Drivers: arms, cameras and input devices behind the ports.

May enter: vendor packages, each imported inside the module that needs it; no node.
Messages are known to the four modules alone whose vendor's interface they are.
"""
