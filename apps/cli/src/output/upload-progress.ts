import type { Output } from "./output.ts";
import { formatBytes } from "./sizes.ts";

/** How often a line that is not rewritten is printed. */
const EVERY_MS = 1_000;

/** Shows how much of an upload is done, for programs as one JSON object a line. */
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
