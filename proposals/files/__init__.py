"""What opens files, reads and writes them whole; where a site keeps them."""
