"""Results -> Plotly figures. The only package that imports plotly; it computes nothing but layout."""
