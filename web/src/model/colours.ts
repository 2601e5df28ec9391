// Okabe and Ito 2008 without black and yellow, as in the reports. Dashes distinguish what colours do not.
export const COLOURS = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5fb5", "#8c6d4f"] as const;
const DASHES: readonly number[][] = [[], [8, 4], [2, 3]];

export const flowColour = (index: number): string => COLOURS[index % COLOURS.length] ?? COLOURS[0];
/** Colours of marked packets: the flow's colour, lighter. */
const TINTED = COLOURS.map((colour) => {
  const channels = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  return `rgb(${channels.map((channel) => Math.round(255 - 0.35 * (255 - channel))).join(" ")})`;
});
export const markedColour = (index: number): string => TINTED[index % TINTED.length] ?? "#ffffff";
export const laneColour = (index: number): string => ["#d55e00", "#009e73", "#0072b2"][index] ?? COLOURS[0];
export const laneDash = (index: number): number[] => DASHES[index] ?? [];

/** Value of a colour that the style sheet defines for light and dark mode. */
export function ink(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
