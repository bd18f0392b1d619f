"""A version and a configuration become calls and a judgement."""
