"""The narrow protocols that engines need; backends satisfy them by shape."""
