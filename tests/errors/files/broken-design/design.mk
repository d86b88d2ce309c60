TOP := broken
