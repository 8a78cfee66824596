interface MeterProps {
  readonly label: string;
  readonly value: number;
  readonly max: number;
  /** As text: `3.4 GB of 10 GB`. */
  readonly text: string;
}

/** From this share it counts as nearly full, from the next one as full. */
const SOON = 0.8;
const FULL = 0.95;

function colorOf(share: number): string {
  if (share >= FULL) return "fill-danger";
  return share >= SOON ? "fill-warn" : "fill-accent";
}

/** A bar that shows how much is used. */
export function Meter({ label, value, max, text }: MeterProps) {
  const share = max > 0 ? Math.min(1, value / max) : 0;
  return (
    <div className="grid gap-1.5 text-sm">
      <div className="flex flex-wrap justify-between gap-x-4">
        <span className="text-muted">{label}</span>
        <span className="tabular-nums">{text}</span>
      </div>
      {/* drawn separately, because browsers style their meters differently; screen readers use the real one */}
      <meter className="sr-only" aria-label={label} min={0} max={max} value={Math.min(value, max)}>
        {text}
      </meter>
      <svg aria-hidden="true" className="h-1.5 w-full overflow-hidden rounded-full bg-sunken">
        <rect className={colorOf(share)} width={`${Math.max(share * 100, share > 0 ? 1 : 0)}%`} height="100%" />
      </svg>
    </div>
  );
}
