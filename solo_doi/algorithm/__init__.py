"""The paper: diverse skills from offline data, each close to the expert. README.md maps equations to code."""
