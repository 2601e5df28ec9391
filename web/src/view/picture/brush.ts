// The canvas of one picture: its size, its colours, and how text fits.
const NARROW = 520;
const INKS = ["ink", "quiet", "well", "line", "ground"] as const;

export interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

export const isNarrow = (width: number): boolean => width < NARROW;

export class Brush {
  readonly narrow: boolean;
  /** Width of the columns of the hosts, on each side. */
  readonly side: number;
  /** Colours of the style sheet, as they are now. */
  readonly inks: Readonly<Record<(typeof INKS)[number], string>>;

  constructor(
    readonly context: CanvasRenderingContext2D,
    readonly width: number,
    readonly height: number,
  ) {
    this.narrow = isNarrow(width);
    this.side = this.narrow ? 84 : 150;
    const style = getComputedStyle(document.documentElement);
    this.inks = Object.fromEntries(INKS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])) as Brush["inks"];
    context.textBaseline = "middle";
    context.textAlign = "left";
    this.font(13);
  }

  font(size: number): void {
    this.context.font = `${size}px system-ui, sans-serif`;
  }

  /** The text, cut to a width. */
  clipped(text: string, width: number): string {
    const { context } = this;
    if (context.measureText(text).width <= width) return text;
    let end = text.length;
    while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
    return `${text.slice(0, end)}…`;
  }

  /** An empty box. */
  frame({ x, y, width, height }: Area): void {
    const { context, inks } = this;
    context.fillStyle = inks.well;
    context.fillRect(x, y, width, height);
    context.strokeStyle = inks.line;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  }
}
