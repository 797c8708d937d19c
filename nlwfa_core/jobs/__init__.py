"""Running recipes in other processes: a fair queue for the lab, sweeps of many runs."""
