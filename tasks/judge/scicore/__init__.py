"""SciCore: judging a neutral record of a paper beside the paper itself, and its ablations."""
