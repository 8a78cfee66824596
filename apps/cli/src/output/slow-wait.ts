import type { Output } from "./output.ts";

const SLOW_MS = 1_000;

/** Waits for work, and says on stderr what takes so long if it does. Programs that read JSON get no such line. */
export async function sayIfSlow<Result>(
  { out, json, slow_ms: slowMs = SLOW_MS }: { readonly out: Output; readonly json: boolean; readonly slow_ms?: number },
  what: string,
  work: Promise<Result>,
): Promise<Result> {
  const slow = setTimeout(() => {
    if (!json) out.status(what);
  }, slowMs);
  try {
    return await work;
  } finally {
    clearTimeout(slow);
    out.status("");
  }
}
