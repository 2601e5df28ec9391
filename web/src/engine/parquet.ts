import { parquetWriteBuffer } from "hyparquet-writer";
import type { Column } from "./pkg/bloatlab_web.js";

/** A table as a Parquet file. NaN, which stands for a value that does not exist, becomes null. */
export function parquet(columns: Column[]): Uint8Array {
  const columnData = columns.map((column) => {
    const { name, kind } = column;
    if (kind === "text") return { name, type: "STRING" as const, data: column.texts() };
    const data = Array.from(column.numbers(), (value) => (Number.isNaN(value) ? null : value));
    if (kind === "number") return { name, type: "DOUBLE" as const, data };
    return { name, type: "INT64" as const, data: data.map((value) => (value === null ? null : BigInt(value))) };
  });
  return new Uint8Array(parquetWriteBuffer({ columnData }));
}
