"""What motion must obey: dynamics, contacts, limits, collision avoidance."""
