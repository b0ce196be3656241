//! tollgate's layers in servers of axum, hyper and tonic: tests over real sockets in `tests/`, and examples.
