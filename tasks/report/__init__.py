"""Numbers become one HTML page, exports and artifacts."""
