// The engine in Node: the module that web/build-engine.sh made, and the Python of the package beside it.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import init, * as engine from "../src/engine/pkg/bloatlab_web.js";

const file = (path) => fileURLToPath(new URL(path, import.meta.url));

await init({ module_or_path: readFileSync(file("../src/engine/pkg/bloatlab_web_bg.wasm")) });

export { engine };

/** The root of the repository. */
export const root = file("../..");

/** Runs a Python script of the repository with the installed bloatlab, and returns what it prints. BLOATLAB_PYTHON names another Python. */
export function python(...command) {
  const installed = `${root}/.venv/bin/python`;
  const program = process.env.BLOATLAB_PYTHON ?? (existsSync(installed) ? installed : "python3");
  const options = { cwd: root, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] };
  return execFileSync(program, command, options);
}
