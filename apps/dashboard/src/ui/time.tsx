const DAY: Intl.DateTimeFormatOptions = { year: "numeric", month: "short", day: "numeric" };
const MINUTE: Intl.DateTimeFormatOptions = { ...DAY, hour: "2-digit", minute: "2-digit" };
const FORMATS = { day: DAY, minute: MINUTE, second: { ...MINUTE, second: "2-digit" } } as const satisfies Record<
  string,
  Intl.DateTimeFormatOptions
>;

interface TimeProps {
  readonly at: string | null;
  /** Shown if there is no time: "never". */
  readonly none?: string;
  readonly to?: keyof typeof FORMATS;
}

/** A time in the reader's format. */
export function Time({ at, none = "never", to = "minute" }: TimeProps) {
  if (at === null) return <span className="text-muted">{none}</span>;
  return (
    <time dateTime={at} className="whitespace-nowrap tabular-nums">
      {new Intl.DateTimeFormat(undefined, FORMATS[to]).format(new Date(at))}
    </time>
  );
}
