"""Live sources of model objects and targets of writes: one module a platform, capabilities by shape."""
