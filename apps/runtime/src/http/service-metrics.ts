import type { UdfStats } from "@appdb/engine/ports";

/** Metrics page for scrapers: text and content type. */
export interface MetricsPage {
  readonly text: string;
  readonly content_type: string;
}

/**
 * Prints the workers' statistics by function and by resource pool. `stats` returns undefined before the first worker.
 */
export async function printMetrics(stats: UdfStats | undefined): Promise<MetricsPage> {
  // Loaded by the first scrape, to keep the start of services fast.
  const { Counter, Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string, value: number) => new Gauge({ name, help, registers }).set(value);
  gauge("appdb_workers", "Python workers that accept rows.", stats?.workers ?? 0);
  gauge("appdb_rows_waiting", "Rows that wait for a worker.", stats?.waiting ?? 0);
  gauge("appdb_rows_running", "Rows in a worker.", stats?.running ?? 0);
  const counter = (name: string, help: string) => new Counter({ name, help, labelNames: ["function"], registers });
  new Counter({ name: "appdb_worker_restarts_total", help: "Replaced workers.", registers }).inc(stats?.restarts ?? 0);
  const counters = {
    calls: counter("appdb_function_calls_total", "Started calls of a function."),
    errors: counter("appdb_function_errors_total", "Calls of a function that returned no value."),
    rows: counter("appdb_function_rows_total", "Rows passed to a function."),
    seconds: counter("appdb_function_seconds_total", "Total time of a function's calls."),
    retries: counter("appdb_function_retries_total", "Calls that a provider rejected and that were retried."),
  };
  const running = new Gauge({
    name: "appdb_function_running",
    help: "Running calls of a function.",
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
  const inPool = pool("appdb_pool_running", "Running calls of a resource pool.");
  const beforePool = pool("appdb_pool_waiting", "Calls waiting for their resource pool.");
  for (const [name, counts] of Object.entries(stats?.pools ?? {})) {
    inPool.set({ pool: name }, counts.running);
    beforePool.set({ pool: name }, counts.waiting);
  }
  return { text: await registry.metrics(), content_type: registry.contentType };
}
