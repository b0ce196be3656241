//! Budgets: one allowance shared by many.

mod tree;
