"""Bodies that can be placed into a scene: characters, objects, mechanisms, environment."""
