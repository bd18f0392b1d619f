"""Injecting a bias into a preference pair: by rules, by a model, around the answers, or as published; and verifying it.

Nothing here knows papers. Which injections a suite wants is the flow's matter, what a judge makes of them the judge
stage's.
"""
