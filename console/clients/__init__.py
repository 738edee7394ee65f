"""Wires: HTTP over tcp, TLS, unix sockets and ssh; Kubernetes and Docker configuration. No model objects here."""
