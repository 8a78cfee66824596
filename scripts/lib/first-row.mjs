import { setTimeout as sleep } from "node:timers/promises";
import { Stop } from "./say.mjs";

/** After a crash, the pods that the server took over may still restart. */
const WAIT_MS = 60_000;
const PAUSE_MS = 500;

/**
 * Inserts the demo's row and returns the response. Sends it again while the service is unavailable (503).
 * `wait`: for tests. Returns undefined when a signal came first.
 */
export async function insertFirstRow(
  { endpoint, key, service, interrupted },
  wait = { for_ms: WAIT_MS, ms: PAUSE_MS },
) {
  const end = Date.now() + wait.for_ms;
  while (!interrupted.came()) {
    const response = await fetch(`${endpoint}/docs`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key },
      body: JSON.stringify({ title: "Hello", body: "World" }),
    });
    const text = await response.text();
    if (response.ok) return text;
    if (response.status !== 503 || Date.now() > end) {
      throw new Stop(`The first row was refused: ${text}`, `./cli service logs ${service}`);
    }
    await sleep(wait.ms);
  }
  return undefined;
}
