"""The method of the paper: diverse skills from offline data, each close to the expert."""
