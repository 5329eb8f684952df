"""UMAP with its functions compiled, without the trace of coverage: that would triple the time."""

from __future__ import annotations

import warnings

import coverage
import numpy as np

TRAINED = 20
"""Points of the smallest map."""


def compile_umap() -> None:
    """Fit a small map and transform other points, so that numba compiles both paths."""
    tracer = coverage.Coverage.current()
    if tracer is not None:
        tracer.stop()
    try:
        from umap import UMAP

        points = np.random.default_rng(0).normal(size=(TRAINED, 33))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = UMAP(n_neighbors=5, random_state=0, n_jobs=1).fit(points)
            model.transform(points[1:] + 1)
    finally:
        if tracer is not None:
            tracer.start()
