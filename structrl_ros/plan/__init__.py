"""Plans: skill grammar, parsing, verifiable reward, the state machine of REVER's Algorithm 1."""
