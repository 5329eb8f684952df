"""The paper: diverse skills from offline data, each close to the expert. Equations and code: docs/method.md."""
