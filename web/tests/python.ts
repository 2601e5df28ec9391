import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The root of the repository. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs a Python script of the repository with the installed bloatlab, and returns what it prints. BLOATLAB_PYTHON names another Python. */
export function python(...command: string[]): string {
  const installed = `${root}/.venv/bin/python`;
  const program = process.env["BLOATLAB_PYTHON"] ?? (existsSync(installed) ? installed : "python3");
  return execFileSync(program, command, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] });
}
