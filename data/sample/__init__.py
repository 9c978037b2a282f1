"""The bundled synthetic archive."""
