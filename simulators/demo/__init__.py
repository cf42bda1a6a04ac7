"""The main job, shown: two issues on a simulated GitHub, from the label to reviewed pull requests."""
