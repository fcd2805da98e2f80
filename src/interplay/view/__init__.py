"""What is seen: meshes, bodies in the browser, cameras, pictures. Pages, pictures and the stage share it."""
