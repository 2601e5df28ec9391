// Builds the lab as one file, lab.html, which opens without a server: report pages link to it.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { defaultClientConditions, defineConfig, type Plugin, type Rollup } from "vite";

/** Imports `FILE?packed` as a text: base64 of the gzip of the file. */
function packed(): Plugin {
  const query = "?packed";
  return {
    name: "packed",
    enforce: "pre",
    load(id) {
      if (!id.endsWith(query)) return null;
      const file = readFileSync(id.slice(0, -query.length));
      return `export default ${JSON.stringify(gzipSync(file, { level: 9 }).toString("base64"))};`;
    },
  };
}

/** Moves the script, the style and the icon into the page, and allows nothing else to be loaded. */
function single(): Plugin {
  return {
    name: "single",
    enforce: "post",
    generateBundle(_, bundle) {
      const files = Object.values(bundle);
      const page = files.find(({ fileName }) => fileName === "index.html");
      const scripts = files.filter((file): file is Rollup.OutputChunk => file.type === "chunk");
      const styles = files.filter((file): file is Rollup.OutputAsset => file.type === "asset" && file.fileName.endsWith(".css"));
      const [script, style] = [scripts[0], styles[0]];
      if (page?.type !== "asset" || !script || !style || scripts.length + styles.length > 2) this.error("the lab must be one page, one script and one style");
      const source = inline(String(page.source), script.code, String(style.source));
      for (const { fileName } of files) delete bundle[fileName];
      this.emitFile({ type: "asset", fileName: "lab.html", source });
    },
  };
}

function inline(page: string, script: string, style: string): string {
  // In a script, these would end the element or begin a comment.
  const code = script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  const icon = readFileSync("public/icon.svg").toString("base64");
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(code)} 'wasm-unsafe-eval'`,
    `style-src ${hashOf(style)}`,
    "img-src blob: data:",
    "worker-src blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const replaced: [RegExp, string][] = [
    [/content="default-src [^"]*"/, `content="${policy}"`],
    [/href="\.\/icon\.svg"/, `href="data:image/svg+xml;base64,${icon}"`],
    [/ *<link rel="manifest"[^>]*>\n/, ""],
    [/<script type="module"[^>]*><\/script>/, `<script type="module">${code}</script>`],
    [/<link rel="stylesheet"[^>]*>/, `<style>${style}</style>`],
  ];
  return replaced.reduce((text, [pattern, by]) => {
    if (!pattern.test(text)) throw new Error(`index.html has no ${pattern}`);
    return text.replace(pattern, () => by);
  }, page);
}

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

export default defineConfig({
  base: "./",
  publicDir: false,
  // package.json gives `#place/...` under this condition.
  resolve: { conditions: ["single", ...defaultClientConditions] },
  build: { outDir: "dist-single", target: "es2022", cssCodeSplit: false, assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  // Chromium starts no module worker from a blob of a file's page.
  worker: { format: "iife", plugins: () => [packed()] },
  plugins: [packed(), single()],
});
