"""Steps in their order. What is here has run on people's files: it is never changed, only followed."""
