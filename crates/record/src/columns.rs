//! The columns of a table as plain lists of numbers or texts.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

/// A column of a table.
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Values,
}

/// The values of a column.
pub enum Values {
    /// Floating-point numbers. NaN stands for a value that does not exist.
    Numbers(Vec<f64>),
    /// Whole numbers. NaN stands for a value that does not exist.
    Integers(Vec<f64>),
    /// Texts.
    Texts(Vec<String>),
}

/// All columns of a table, in order.
pub fn columns(table: &RecordBatch) -> Vec<Column> {
    let schema = table.schema();
    let each = schema.fields().iter().zip(table.columns());
    each.map(|(field, values)| Column {
        name: field.name().clone(),
        values: values_of(values),
    })
    .collect()
}

fn values_of(column: &ArrayRef) -> Values {
    match column.data_type() {
        DataType::Float64 => Values::Numbers(numbers::<Float64Type>(column, |value| value)),
        DataType::Int64 => Values::Integers(numbers::<Int64Type>(column, |value| value as f64)),
        DataType::UInt8 => Values::Integers(numbers::<UInt8Type>(column, f64::from)),
        DataType::UInt16 => Values::Integers(numbers::<UInt16Type>(column, f64::from)),
        DataType::UInt32 => Values::Integers(numbers::<UInt32Type>(column, f64::from)),
        DataType::Dictionary(..) => {
            let names = column.as_dictionary::<Int32Type>();
            let known = names.values().as_string::<i32>();
            let name = |key: &i32| known.value(*key as usize).to_owned();
            Values::Texts(names.keys().values().iter().map(name).collect())
        }
        _ => {
            let texts = column.as_string::<i32>().iter();
            let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
            Values::Texts(texts.map(text).collect())
        }
    }
}

fn numbers<T: ArrowPrimitiveType>(column: &ArrayRef, number: fn(T::Native) -> f64) -> Vec<f64> {
    let values = column.as_primitive::<T>().iter();
    values.map(|value| value.map_or(f64::NAN, number)).collect()
}
