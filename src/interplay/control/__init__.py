"""Controllers: from a state to accelerations, torques and contact wrenches."""
