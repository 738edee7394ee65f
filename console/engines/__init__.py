"""Pure engines: they decide and order. They know ports (protocols), never a wire or a screen."""
