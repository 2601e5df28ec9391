//! Tables as CSV.

use std::fmt::{self, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

/// A table as CSV (RFC 4180). A value that does not exist is an empty field.
///
/// A text that a spreadsheet would read as a formula gets an apostrophe in front, because names come from the author of the scenario.
pub fn csv(table: &RecordBatch) -> String {
    let mut text = String::new();
    write(table, &mut text).expect("writing to a string never fails");
    text
}

fn write(table: &RecordBatch, out: &mut String) -> fmt::Result {
    let schema = table.schema();
    for (place, field) in schema.fields().iter().enumerate() {
        write_separator(place, out);
        out.push_str(field.name());
    }
    out.push('\n');
    for row in 0..table.num_rows() {
        for (place, column) in table.columns().iter().enumerate() {
            write_separator(place, out);
            write_value(column.as_ref(), row, out)?;
        }
        out.push('\n');
    }
    Ok(())
}

fn write_separator(place: usize, out: &mut String) {
    if place > 0 {
        out.push(',');
    }
}

fn write_value(column: &dyn Array, row: usize, out: &mut String) -> fmt::Result {
    if column.is_null(row) {
        return Ok(());
    }
    match column.data_type() {
        DataType::Float64 => write!(out, "{}", column.as_primitive::<Float64Type>().value(row))?,
        DataType::Int64 => write!(out, "{}", column.as_primitive::<Int64Type>().value(row))?,
        DataType::UInt8 => write!(out, "{}", column.as_primitive::<UInt8Type>().value(row))?,
        DataType::UInt16 => write!(out, "{}", column.as_primitive::<UInt16Type>().value(row))?,
        DataType::UInt32 => write!(out, "{}", column.as_primitive::<UInt32Type>().value(row))?,
        DataType::Dictionary(..) => {
            let names = column.as_dictionary::<Int32Type>();
            let key = names.keys().value(row) as usize;
            write_text(names.values().as_string::<i32>().value(key), out);
        }
        _ => write_text(column.as_string::<i32>().value(row), out),
    }
    Ok(())
}

fn write_text(text: &str, out: &mut String) {
    let mark = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        "'"
    } else {
        ""
    };
    if text.contains(['"', ',', '\n', '\r']) {
        out.push('"');
        out.push_str(mark);
        out.push_str(&text.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(mark);
        out.push_str(text);
    }
}
