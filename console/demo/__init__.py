"""The simulated fleet behind the real protocols: a Kubernetes API and a Docker Engine API on loopback."""
