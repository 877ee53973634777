"""`mneme doctor`: finds problems of an installation and says how to solve them."""
