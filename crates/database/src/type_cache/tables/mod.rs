//! The tables of a type: its variants, what is selected of them, and the views. None of them knows another one.

mod leases;
mod parameter_index;
mod selection_set;
mod selection_table;
mod variant_index;
mod view_table;

pub(crate) use selection_set::SelectionSet;
pub(crate) use selection_table::SelectionTable;
pub(crate) use variant_index::{VariantIndex, Variants};
pub(crate) use view_table::ViewTable;
