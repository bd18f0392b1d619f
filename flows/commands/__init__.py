"""The commands of ``evenhand``, one module a command; ``flows.cli`` puts them together."""
