const PATHS = {
  restart: "M3 3h2v10H3zM13 3v10L6 8z",
  run: "M4 2v12l10-6z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  step: "M3 3v10l6-5zM11 3h2v10h-2z",
  end: "M2 3v10l5-5zM7 3v10l5-5zM12 3h2v10h-2z",
} as const;

/** Drawn here, because fonts lack the usual characters. */
export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} fill="currentColor" />
    </svg>
  );
}
