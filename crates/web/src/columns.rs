//! The columns of a table as JavaScript takes them: numbers or texts.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type};
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
    let each = |value: &dyn Fn(usize) -> f64| {
        let value = |row| {
            if column.is_null(row) {
                f64::NAN
            } else {
                value(row)
            }
        };
        (0..column.len()).map(value).collect()
    };
    match column.data_type() {
        DataType::Float64 => {
            let numbers = column.as_primitive::<Float64Type>();
            Values::Numbers(each(&|row| numbers.value(row)))
        }
        DataType::Int64 => {
            let numbers = column.as_primitive::<Int64Type>();
            Values::Integers(each(&|row| numbers.value(row) as f64))
        }
        DataType::UInt8 => {
            let numbers = column.as_primitive::<UInt8Type>();
            Values::Integers(each(&|row| f64::from(numbers.value(row))))
        }
        DataType::UInt16 => {
            let numbers = column.as_primitive::<UInt16Type>();
            Values::Integers(each(&|row| f64::from(numbers.value(row))))
        }
        DataType::UInt32 => {
            let numbers = column.as_primitive::<UInt32Type>();
            Values::Integers(each(&|row| f64::from(numbers.value(row))))
        }
        DataType::Dictionary(..) => {
            let names = column.as_dictionary::<Int32Type>();
            let known = names.values().as_string::<i32>();
            let name = |key: &i32| known.value(*key as usize).to_owned();
            Values::Texts(names.keys().values().iter().map(name).collect())
        }
        _ => {
            let texts = column.as_string::<i32>();
            let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
            Values::Texts(texts.iter().map(text).collect())
        }
    }
}
