"""Control: chunk schedule, blending, limits, watchdog, arbitration."""
