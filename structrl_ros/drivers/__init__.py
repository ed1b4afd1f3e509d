"""Drivers: arms, cameras and input devices, with the vendors' packages inside."""
