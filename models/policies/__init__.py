"""Chunk policies behind one port: `base.ChunkPolicy`; `registry` finds them by name."""
