//! Budgets: one allowance shared by many, by rules that say what each of them is due.

pub mod tree;
