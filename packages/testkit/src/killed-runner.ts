import { withMadeRows } from "@appdb/engine/compute/rows-runner";
import { runJobs } from "@appdb/engine/jobs/run-jobs";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { createFakeUdfRunner } from "./fake-udf-runner.ts";
import { createSilentLog } from "./silent-log.ts";

/** A separate process that runs jobs with a slow function until it is killed. First argument: the dsn. */
const dsn = process.argv[2];
if (dsn === undefined) throw new Error("usage: killed-runner.ts <dsn>");
const slowly = async (value: string): Promise<string> => {
  await new Promise((resolve) => setTimeout(resolve, 150));
  return value;
};
const runner = withMadeRows(
  createFakeUdfRunner({
    excerpt: (row) => slowly(`<${row.title}>`),
    // The rows of an iterator view.
    "parts.(rows)": (row) =>
      slowly(
        JSON.stringify(
          String(row.title)
            .split(" ")
            .map((word) => [word]),
        ),
      ),
  }),
);
await runJobs(
  {
    sql: createPgPool({ dsn, max: 3, application_name: "killed runner" }),
    udf: async () => runner,
    clock: { now: Date.now },
    log: createSilentLog(),
    owner: `runner ${process.pid}`,
  },
  AbortSignal.timeout(60_000),
);
