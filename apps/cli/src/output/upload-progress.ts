import type { Output } from "./output.ts";
import { formatBytes } from "./sizes.ts";

/** Interval of progress lines when they cannot be rewritten. */
const EVERY_MS = 1_000;

/** Shows the progress of an upload; as JSON lines for programs. */
export function showUpload(out: Pick<Output, "note" | "status">, json: boolean): (sent: number, total: number) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (sent, total) => {
    const now = performance.now();
    if (sent < total && now - last < EVERY_MS) return;
    last = now;
    if (json) out.note(JSON.stringify({ event: "upload", bytes_sent: sent, bytes_total: total }));
    else out.status(`uploading: ${formatBytes(sent)} of ${formatBytes(total)}`);
  };
}
