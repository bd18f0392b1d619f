"""A family becomes checked, compiled versions in other words."""
