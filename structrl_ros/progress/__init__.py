"""Progress: panels, signed hops, fusion, value-order correlation."""
