"""Where bytes come from: each source gives blocks of lines and a checksum of what it read."""
