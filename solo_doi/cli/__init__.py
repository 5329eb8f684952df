"""The commands of the library: solo-train, solo-sweep, solo-eval, solo-export."""
