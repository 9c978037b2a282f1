"""Scripts that make the documentation: reference, gallery, pictures and executed pages."""
