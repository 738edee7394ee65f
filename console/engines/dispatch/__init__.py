"""Makes an applier apply exactly one commit and follows that operation to its end.

Here is what that takes: clients for Flux and Argo CD, the dispatcher, the record of each operation, and whom a trigger answers
to. Not here: the decision that a commit is safe to apply, any wire, any screen. See ``docs/dispatch.md``.
"""
