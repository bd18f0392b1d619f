"""Six reviewers that run a flow of their own, as protocols: one module a reviewer, its words in ``prompts/``."""
