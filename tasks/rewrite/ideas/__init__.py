"""Fifteen variants of a research idea: by rules, by a model, composed, audited, remade.

Nothing here knows papers or LaTeX: an idea is a record of fields. Which variants a suite wants is the flow's matter.
"""
