"""Claims about results, judged by what the rows hold."""
