"""Does exactness matter? What is planned on soft contact, done on exact contact, and the other way round."""
