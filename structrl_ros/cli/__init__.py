"""The structrl command."""
