// Loads the engine once, and runs a scenario. Fails if the module is broken.

import { readFileSync } from "node:fs";

import init, { run } from "./src/engine/pkg/bloatlab_web.js";

const path = new URL("src/engine/pkg/bloatlab_web_bg.wasm", import.meta.url);
await init({ module_or_path: readFileSync(path) });
run('{"duration": "1s", "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms"}, "flows": [{}]}', 1n);
