//! Live change of rate and capacity.
