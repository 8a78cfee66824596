"""What the functions of media are made of: pixels, streams of films and sounds, boxes, and signed addresses."""
