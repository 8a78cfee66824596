import { expect, test } from "vitest";
import { printMetrics } from "./service-metrics.ts";

test("counts each function and pool", async () => {
  const counts = { calls: 3, errors: 1, rows: 30, seconds: 0.5, retries: 2, running: 4 };
  const { text, content_type: contentType } = await printMetrics({
    workers: 2,
    waiting: 7,
    running: 5,
    calls: 30,
    restarts: 1,
    functions: { "udfs:embed": counts },
    pools: { openai: { running: 20, waiting: 9 } },
  });
  expect(contentType).toContain("text/plain");
  for (const line of [
    "appdb_workers 2",
    "appdb_rows_waiting 7",
    "appdb_worker_restarts_total 1",
    'appdb_function_calls_total{function="udfs:embed"} 3',
    'appdb_function_errors_total{function="udfs:embed"} 1',
    'appdb_function_rows_total{function="udfs:embed"} 30',
    'appdb_function_seconds_total{function="udfs:embed"} 0.5',
    'appdb_function_retries_total{function="udfs:embed"} 2',
    'appdb_function_running{function="udfs:embed"} 4',
    'appdb_pool_running{pool="openai"} 20',
    'appdb_pool_waiting{pool="openai"} 9',
  ]) {
    expect(text.split("\n")).toContain(line);
  }
});

test("reports zero before the first worker starts", async () => {
  expect((await printMetrics(undefined)).text).toContain("appdb_workers 0");
});
