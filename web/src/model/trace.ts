// Rate traces in the format of mahimahi: each line is the millisecond at which a packet of 1500 bytes can leave.
const MOST_LINES = 500_000;

/** Deliveries of a trace, in ms. Throws an Error with one line if the text is no such trace. */
export function deliveries(name: string, text: string): number[] {
  const lines = text.trimEnd().split("\n");
  if (lines.length > MOST_LINES) throw new Error(`${name}: has ${lines.length} lines; at most ${MOST_LINES} are allowed. Run it on the command line with \`bloatlab simulate\`.`);
  let last = 0;
  return lines.map((line, index) => {
    const time = /^\s*\d{1,9}\s*$/.test(line) ? Number(line) : NaN;
    if (!(time >= last)) throw new Error(`${name}: line ${index + 1} must be a whole number of milliseconds, not below the line before it.`);
    last = time;
    return time;
  });
}
