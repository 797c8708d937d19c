"""Measure the lab with many people at once, in sessions that speak the browser's protocol: `python
-m benchmarks.load`.
"""
