"""The live full-screen view: samples of a cluster, the lines drawn of them, the screen."""
