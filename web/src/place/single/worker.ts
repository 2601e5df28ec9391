import packed from "../../engine/pkg/bloatlab_web_bg.wasm?packed";

/** The engine's module for `init`, unpacked from the script. */
export function engineModule(): Response {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(unpacked, { headers: { "Content-Type": "application/wasm" } });
}
