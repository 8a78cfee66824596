import type { UdfStats } from "@appdb/engine/ports";

/** The page of numbers that a scraper reads: its text and its content type. */
export interface MetricsPage {
  readonly text: string;
  readonly content_type: string;
}

/** Prints what the workers count, by function and by resource pool. `stats` gives undefined before the first worker. */
export async function printMetrics(stats: UdfStats | undefined): Promise<MetricsPage> {
  // Loaded by the first scrape: a service that nobody scrapes starts without it.
  const { Counter, Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string, value: number) => new Gauge({ name, help, registers }).set(value);
  gauge("appdb_workers", "Python workers that take rows.", stats?.workers ?? 0);
  gauge("appdb_rows_waiting", "Rows that wait for a worker.", stats?.waiting ?? 0);
  gauge("appdb_rows_running", "Rows that a worker has.", stats?.running ?? 0);
  const counter = (name: string, help: string) => new Counter({ name, help, labelNames: ["function"], registers });
  new Counter({ name: "appdb_worker_restarts_total", help: "Workers that were replaced.", registers }).inc(
    stats?.restarts ?? 0,
  );
  const counters = {
    calls: counter("appdb_function_calls_total", "Calls of a function that began."),
    errors: counter("appdb_function_errors_total", "Calls of a function that gave no value."),
    rows: counter("appdb_function_rows_total", "Rows that a function was called with."),
    seconds: counter("appdb_function_seconds_total", "Time that a function's calls took, added up."),
    retries: counter("appdb_function_retries_total", "Calls that a provider turned away and that were tried again."),
  };
  const running = new Gauge({
    name: "appdb_function_running",
    help: "Calls of a function that run.",
    labelNames: ["function"],
    registers,
  });
  for (const [id, counts] of Object.entries(stats?.functions ?? {})) {
    for (const name of ["calls", "errors", "rows", "seconds", "retries"] as const) {
      counters[name].inc({ function: id }, counts[name]);
    }
    running.set({ function: id }, counts.running);
  }
  const pool = (name: string, help: string) => new Gauge({ name, help, labelNames: ["pool"], registers });
  const inPool = pool("appdb_pool_running", "Calls of a resource pool that run.");
  const beforePool = pool("appdb_pool_waiting", "Calls that wait for their resource pool.");
  for (const [name, counts] of Object.entries(stats?.pools ?? {})) {
    inPool.set({ pool: name }, counts.running);
    beforePool.set({ pool: name }, counts.waiting);
  }
  return { text: await registry.metrics(), content_type: registry.contentType };
}
