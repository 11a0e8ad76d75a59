//! The formulas of the poll schedule. Pure; every one of them is a decision
//! of the requirements.
