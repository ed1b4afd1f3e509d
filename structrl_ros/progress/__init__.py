"""Progress: panels, signed hops, fusion, visual order consistency (VOC)."""
