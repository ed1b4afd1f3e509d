"""The structrl command: one module a command, options in, one core call, a page or a line out.

May enter: typer, rich and every room; torch and simulators inside functions that need them.
Nobody imports this room; a mistake of a user is one line and never a traceback.
"""
