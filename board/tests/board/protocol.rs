//! The claim protocol as a model whose every interleaving is tried.
