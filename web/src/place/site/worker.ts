/** The engine's module for `init`. Undefined: the file beside the script. */
export function engineModule(): Response | undefined {
  return undefined;
}
