"""The build of an index: the Spark jobs, their results, and the generation made of them."""
