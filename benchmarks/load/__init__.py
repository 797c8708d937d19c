"""The lab under many people at once: sessions that speak the browser's own protocol. `python -m benchmarks.load`."""
