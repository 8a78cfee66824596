const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
const COUNT = new Intl.NumberFormat("en");

/** `3.4 GiB`, like the CLI. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = value < 100 && unit > 0 ? 1 : 0;
  return `${value.toFixed(digits).replace(/\.0$/, "")} ${BYTE_UNITS[unit]}`;
}

/** `12,345` */
export function formatCount(count: number): string {
  return COUNT.format(count);
}

/** `45s`, `3m 05s`, `2h 10m`, `6d 4h`: the two largest units. */
export function formatDuration(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1_000));
  const [minutes, hours, days] = [Math.floor(s / 60), Math.floor(s / 3_600), Math.floor(s / 86_400)];
  const two = (count: number) => String(count).padStart(2, "0");
  if (minutes === 0) return `${s}s`;
  if (hours === 0) return `${minutes}m ${two(s % 60)}s`;
  if (days === 0) return `${hours}h ${two(minutes % 60)}m`;
  return `${days}d ${hours % 24}h`;
}

/** `1 row`, `2 rows`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
