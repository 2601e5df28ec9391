import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/** Bytes of the built lab if each of its files is compressed. */
export function packedSize(): number {
  const files = readdirSync("dist", { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, entry) => sum + gzipSync(readFileSync(join(entry.parentPath, entry.name))).length, 0);
}
