import { withMadeRows } from "@appdb/engine/compute/rows-runner";
import { runJobs } from "@appdb/engine/jobs/run-jobs";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { createFakeUdfRunner, rowsOfWords } from "./fake-udf-runner.ts";
import { createSilentLog } from "./silent-log.ts";

/** A separate process that runs jobs with a slow function until it is killed. First argument: the dsn. */
const dsn = process.argv[2];
if (dsn === undefined) throw new Error("usage: killed-runner.ts <dsn>");
const slowly = async (value: string): Promise<string> => {
  await new Promise((resolve) => setTimeout(resolve, 150));
  return value;
};
const sql = createPgPool({ dsn, max: 3, application_name: "killed runner" });
/** The rows of an iterator view. */
const parts = (row: Readonly<Record<string, unknown>>) => slowly(rowsOfWords(String(row.title).split(" ")));
const { rows: shadows } = await sql.query({ text: "select name from appdb.columns where name like '#shadow %'" });
const runner = withMadeRows(
  createFakeUdfRunner({
    excerpt: (row) => slowly(`<${row.title}>`),
    "parts.(rows)": parts,
    ...Object.fromEntries(shadows.map(([name]) => [name ?? "", parts])),
  }),
);
await runJobs(
  {
    sql,
    udf: async () => runner,
    clock: { now: Date.now },
    log: createSilentLog(),
    owner: `runner ${process.pid}`,
  },
  AbortSignal.timeout(60_000),
);
