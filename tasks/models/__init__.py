"""Workshop: how a model is asked (endpoints, limiter, outcomes, phantoms, the embedded model)."""
