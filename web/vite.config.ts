import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vite";

/** Writes the list of built files, and a name that changes with them, into the service worker. */
function offline(): Plugin {
  const files = (folder: string, base = ""): string[] =>
    readdirSync(folder).flatMap((name) => {
      const path = join(folder, name);
      return statSync(path).isDirectory() ? files(path, `${base}${name}/`) : [`${base}${name}`];
    });
  return {
    name: "offline",
    apply: "build",
    closeBundle() {
      const dist = "dist";
      const names = files(dist).filter((name) => name !== "sw.js").sort();
      const hash = createHash("sha256");
      for (const name of names) hash.update(name).update(readFileSync(join(dist, name)));
      const worker = readFileSync("public/sw.js", "utf8")
        .replace("__FILES__", JSON.stringify(["./", ...names.map((name) => `./${name}`)]))
        .replace("__VERSION__", JSON.stringify(hash.digest("hex").slice(0, 16)));
      writeFileSync(join(dist, "sw.js"), worker);
    },
  };
}

export default defineConfig({
  base: "./",
  build: { outDir: "dist", target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  worker: { format: "es" },
  plugins: [offline()],
});
