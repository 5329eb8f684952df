"""From power-up to calibrated joints."""
