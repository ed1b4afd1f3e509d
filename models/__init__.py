"""Networks and model servers behind the ports."""
