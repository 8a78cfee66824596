import { expect, test } from "vitest";
import { STORE_LIMITS, StoreBounds } from "./store-bounds.ts";

const LIMITS = { ...STORE_LIMITS, org_requests: 2, org_waiting: 1, org_bytes: 10, bytes: 15, spare_bytes: 0 };
const never = new AbortController().signal;

/** A request that runs until it is ended. */
function begin(bounds: StoreBounds, org: string, bytes: number, signal = never) {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const seen = { state: "waiting" };
  const done = bounds
    .run(org, bytes, signal, async () => {
      seen.state = "running";
      await ended;
    })
    .then(
      () => (seen.state = "done"),
      (error: { code?: string; message: string }) => (seen.state = error.code ?? error.message),
    );
  return { seen, end, done };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

test("an organization with its share waits, and another one passes it", async () => {
  const bounds = new StoreBounds(LIMITS);
  const [first, second, third] = [begin(bounds, "a", 4), begin(bounds, "a", 4), begin(bounds, "a", 1)];
  const more = begin(bounds, "a", 1);
  const other = begin(bounds, "b", 6);
  await settle();
  expect([first, second, third, more, other].map(({ seen }) => seen.state)).toEqual([
    "running",
    "running",
    "waiting",
    "overloaded",
    "running",
  ]);
  first.end();
  await first.done;
  await settle();
  expect(third.seen.state).toBe("running");
});

test("memory is shared among all", async () => {
  const bounds = new StoreBounds(LIMITS);
  const [first, second] = [begin(bounds, "a", 9), begin(bounds, "b", 9)];
  await settle();
  expect([first.seen.state, second.seen.state]).toEqual(["running", "waiting"]);
  first.end();
  await first.done;
  await settle();
  expect(second.seen.state).toBe("running");
});

test("the last part is for organizations without a running request", async () => {
  const bounds = new StoreBounds({ ...LIMITS, spare_bytes: 5 });
  const [first, second] = [begin(bounds, "a", 8), begin(bounds, "b", 2)];
  const [more, third] = [begin(bounds, "b", 1), begin(bounds, "c", 5)];
  await settle();
  expect([first, second, more, third].map(({ seen }) => seen.state)).toEqual([
    "running",
    "running",
    "waiting",
    "running",
  ]);
});

test("an organization has an eighth of all, which is enough for the largest put and small requests", async () => {
  expect(STORE_LIMITS.org_bytes).toBe(STORE_LIMITS.bytes / 8);
  const bounds = new StoreBounds();
  const running = [];
  for (const org of ["a", "b", "c"]) {
    for (const bytes of [48 << 20, 48 << 20, ...Array(16).fill(1 << 20)]) running.push(begin(bounds, org, bytes));
  }
  const victim = begin(bounds, "victim", 48 << 20);
  await settle();
  expect(running.filter(({ seen }) => seen.state === "running")).toHaveLength(3 * 17);
  expect(victim.seen.state).toBe("running");
});

test("a request that is aborted or waits for too long leaves its place", async () => {
  const bounds = new StoreBounds({ ...LIMITS, wait_ms: 20 });
  const first = begin(bounds, "a", 10);
  const late = begin(bounds, "a", 10);
  await late.done;
  expect(late.seen.state).toBe("overloaded");
  const gone = begin(bounds, "a", 10, AbortSignal.abort(new Error("gone")));
  await gone.done;
  expect(gone.seen.state).toBe("gone");
  first.end();
  await first.done;
  const next = begin(bounds, "a", 10);
  await settle();
  expect(next.seen.state).toBe("running");
});
