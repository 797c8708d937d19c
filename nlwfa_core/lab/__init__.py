"""What the lab shows, without Streamlit: numbers into tables, sentences, formulas, figures and files."""
