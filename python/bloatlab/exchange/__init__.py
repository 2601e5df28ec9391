"""Files of measuring tools, read into a results directory (`import`) and written from its runs (`export`)."""
