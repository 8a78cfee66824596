import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { fileURLToPath } from "node:url";
import { appError } from "@appdb/contract/errors";
import { bundleScript } from "@appdb/testkit/built-programs";
import { eventually } from "@appdb/testkit/eventually";
import { docs, excerptColumn, fakeWorkers, upperColumn, useJobsBench } from "@appdb/testkit/jobs-bench";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import type { Statement } from "../ports.ts";
import type { JobDeps } from "./job-deps.ts";
import { runJobs } from "./run-jobs.ts";
import { watchJobs } from "./watch-jobs.ts";

const { execute, rows, catalog, apply, insertDocs, deps, dsn, finish, isInAgreement } = useJobsBench();

test("a stopped fill continues after the last finished batch", async () => {
  await apply(docs());
  await insertDocs(1_800);
  const stop = new AbortController();
  const first = fakeWorkers({
    excerpt: (row) => {
      if (row.title === "title 1200") stop.abort();
      return `<${row.title}>`;
    },
  });
  const jobs = await apply(docs(excerptColumn()));
  await runJobs(deps({ udf: first.udf }), stop.signal);
  expect(first.runner.is_disposed).toBe(true);
  const [[done] = []] = await rows("select rows_done from appdb.jobs");
  // Whole batches, without the stopped one.
  expect(Number(done)).toBeGreaterThan(0);
  expect(Number(done)).toBeLessThanOrEqual(1_200);
  expect((await catalog()).tables[0]?.columns.at(-1)?.state).toBe("filling");
  const second = fakeWorkers({ excerpt: (row) => `<${row.title}>` });
  await finish(jobs, deps({ udf: second.udf, owner: "runner-2" }));
  expect(second.runner.calls).toHaveLength(1_800 - Number(done));
  expect(await rows("select count(*) from docs where excerpt = '<' || title || '>'")).toEqual([["1800"]]);
});

test("a dead runner's job is taken over only after its lease expires", async () => {
  await apply(docs());
  await insertDocs(10);
  const jobs = await apply(docs(upperColumn("up", "title")));
  await execute({
    text: "update appdb.jobs set state = 'running', owner = 'dead', lease_until = $1",
    values: [new Date(Date.now() + 15_000).toISOString()],
  });
  let offset = 0;
  const clock = { now: () => Date.now() + offset };
  const stop = new AbortController();
  const running = runJobs(deps({ clock }), stop.signal);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await rows("select owner, state from appdb.jobs")).toEqual([["dead", "running"]]);
  offset = 20_000;
  await watchJobs(deps(), jobs, () => undefined, stop.signal);
  stop.abort();
  await running;
  expect(await rows("select count(*) from docs where up = upper(title)")).toEqual([["10"]]);
});

test("a runner that lost its lease writes nothing more", async () => {
  await apply(docs());
  await insertDocs(10);
  const jobs = await apply(docs(excerptColumn()));
  const slow = fakeWorkers({
    excerpt: async (row) => {
      // Another runner takes the job over while this one computes.
      if (row.title === "title 1") await execute({ text: "update appdb.jobs set owner = 'runner-2'" });
      return "from the loser";
    },
  });
  const stop = new AbortController();
  const running = runJobs(deps({ udf: slow.udf }), stop.signal);
  await eventually(() => expect(slow.runner.is_disposed).toBe(true));
  expect(await rows("select count(*) from docs where excerpt is not null")).toEqual([["0"]]);
  const winner = fakeWorkers({ excerpt: () => "from the winner" });
  await finish(jobs, deps({ udf: winner.udf, owner: "runner-2" }));
  stop.abort();
  await running;
  expect(await rows("select count(*) from docs where excerpt = 'from the winner'")).toEqual([["10"]]);
});

test("a column dropped during its fill ends its job", async () => {
  await apply(docs());
  await insertDocs(1_500);
  const gate = new EventEmitter();
  const isUpdated = once(gate, "updated");
  const slow = fakeWorkers({
    // The fill cannot end before the other update: its end increments the version, and an earlier plan is refused.
    excerpt: async (row) => {
      if (row.title === "title 1500") await isUpdated;
      return `<${row.title}>`;
    },
  });
  const jobs = await apply(docs(excerptColumn()));
  const stop = new AbortController();
  const running = runJobs(deps({ udf: slow.udf }), stop.signal);
  await eventually(async () => expect(await rows("select rows_done > 0 from appdb.jobs")).toEqual([["t"]]));
  await apply(docs());
  await watchJobs(deps(), jobs, () => undefined, stop.signal);
  await eventually(() => expect(slow.runner.is_disposed).toBe(true));
  stop.abort();
  await running;
  expect(await isInAgreement(docs())).toBe(true);
  expect(await rows("select state from appdb.jobs")).toEqual([["done"]]);
});

test("a fill and another update of the table do not block each other", async () => {
  await apply(docs());
  await insertDocs(1_500);
  const gate = new EventEmitter();
  const isUpdated = once(gate, "updated");
  const slow = fakeWorkers({
    // The fill cannot end before the other update: its end increments the version, and an earlier plan is refused.
    excerpt: async (row) => {
      if (row.title === "title 1500") await isUpdated;
      return `<${row.title}>`;
    },
  });
  const first = await apply(docs(excerptColumn()));
  const stop = new AbortController();
  const running = runJobs(deps({ udf: slow.udf }), stop.signal);
  await eventually(async () => expect(await rows("select rows_done > 0 from appdb.jobs")).toEqual([["t"]]));
  const both = docs(excerptColumn(), upperColumn("loud", "excerpt"));
  const second = await apply(both);
  gate.emit("updated");
  await watchJobs(deps(), [...first, ...second], () => undefined, stop.signal);
  stop.abort();
  await running;
  expect(await rows("select count(*) from docs where loud = upper('<' || title || '>')")).toEqual([["1500"]]);
  expect(await isInAgreement(both)).toBe(true);
});

/** The object with other methods. */
function replaced<T extends object>(whole: T, methods: Partial<T>): T {
  return new Proxy(whole, {
    get: (target, name) => {
      const value = Reflect.get(Object.hasOwn(methods, name) ? methods : target, name);
      return typeof value === "function" && !Object.hasOwn(methods, name) ? value.bind(target) : value;
    },
  });
}

test("a fill under which PostgreSQL ends again and again is given up and names the batch", async () => {
  await apply(docs());
  await insertDocs(100);
  const jobs = await apply(docs(upperColumn("up", "title")));
  const good = deps().sql;
  let attempts = 0;
  const transaction: JobDeps["sql"]["transaction"] = (work, settings) =>
    good.transaction((connection) => {
      const query: typeof connection.query = async (statement) => {
        if (!statement.text.includes(`as "#target" set`)) return connection.query(statement);
        attempts += 1;
        throw appError("commit_unknown", { detail: "The connection broke.", hint: "Try again." });
      };
      return work(replaced(connection, { query }));
    }, settings);
  const sql = replaced(good, { transaction });
  await expect(finish(jobs, deps({ sql }))).rejects.toMatchObject({
    code: "fill_failed",
    message: expect.stringMatching(
      /The fill of table docs was given up after 4 attempts: PostgreSQL or the job's process ended each time in the batch of rows that begins with .+, perhaps without memory\. 0 of 100 rows were done; its new columns were dropped\./,
    ),
    hint: expect.stringContaining("memory_mb"),
  });
  expect(attempts).toBe(4);
  expect(await isInAgreement(docs())).toBe(true);
});

test("restarts of PostgreSQL during a batch do not give up a fill", async () => {
  await apply(docs());
  await insertDocs(100);
  const jobs = await apply(docs(upperColumn("up", "title")));
  // What a backend meets when PostgreSQL is stopped. A sequence keeps its value after the rollback.
  await execute({ text: "create sequence ended" });
  await execute({
    text: `create function end_backend() returns trigger language plpgsql as $$
      begin
        if nextval('ended') <= 6 then perform pg_terminate_backend(pg_backend_pid()); end if;
        return null;
      end $$`,
  });
  await execute({
    text: "create trigger end_backend before update on docs for each statement execute function end_backend()",
  });
  await finish(jobs);
  expect(await rows("select count(*) from docs where up = upper(title)")).toEqual([["100"]]);
  expect(await rows("select last_value from ended")).toEqual([["7"]]);
});

test("if a column cannot be filled, later readers of it fail too", async () => {
  await apply(docs());
  await insertDocs(10);
  const failing = fakeWorkers({
    excerpt: () => {
      throw new Error("no");
    },
  });
  const first = await apply(docs(excerptColumn()));
  const second = await apply(docs(excerptColumn(), upperColumn("loud", "excerpt")));
  await expect(finish([...first], deps({ udf: failing.udf }))).rejects.toMatchObject({ code: "fill_failed" });
  await expect(finish([...second], deps({ udf: failing.udf }))).rejects.toMatchObject({
    code: "fill_failed",
    message: expect.stringContaining("A column that it reads was dropped"),
  });
  expect(await isInAgreement(docs())).toBe(true);
});

test("workers that cannot start end the fill after some attempts", async () => {
  await apply(docs());
  await insertDocs(3);
  const jobs = await apply(docs(excerptColumn()));

  let tries = 0;
  const start: JobDeps["udf"] = () => {
    tries++;
    return Promise.reject(appError("worker_unavailable", { detail: "No module named 'app'.", hint: "Add app.py." }));
  };
  await expect(finish(jobs, deps({ udf: start }))).rejects.toMatchObject({
    code: "fill_failed",
    message: expect.stringContaining("No module named 'app'."),
    hint: "Add app.py.",
  });
  expect(tries).toBe(4);
  expect(await isInAgreement(docs())).toBe(true);
});

test("jobs of a restored copy wait for a person", async () => {
  await apply(docs());
  await insertDocs(3);
  await apply(docs(upperColumn("up", "title")));
  await execute({ text: "update appdb.state set incarnation = gen_random_uuid()" });
  const stop = new AbortController();
  const running = runJobs(deps(), stop.signal);
  await new Promise((resolve) => setTimeout(resolve, 300));
  stop.abort();
  await running;
  expect(await rows("select state from appdb.jobs")).toEqual([["queued"]]);
});

test("each outage of PostgreSQL is logged once, without a job too", async () => {
  const { sql } = deps();
  const log = createSilentLog();
  let failures = 0;
  let lookups = 0;
  const failing = new Proxy(sql, {
    get(target, key) {
      if (key !== "query" && key !== "transaction" && key !== "listen") return Reflect.get(target, key);
      return async (...args: [Statement]) => {
        if (failures > 0) {
          failures -= 1;
          throw appError("database_unavailable", { detail: "PostgreSQL does not answer." });
        }
        const answer = await (Reflect.get(target, key) as (...args: unknown[]) => unknown).apply(target, args);
        // the last statement of an attempt without a job
        if (key === "query" && !args[0].text.startsWith("delete")) lookups += 1;
        return answer;
      };
    },
  });
  const stop = new AbortController();
  const running = runJobs(deps({ sql: failing, log }), stop.signal);
  const logged = () => log.lines.filter(({ level }) => level === "warn").map(({ message }) => message);
  for (const outage of [1, 2]) {
    failures = 3;
    await eventually(() => expect(failures).toBe(0));
    expect(logged()).toEqual(Array(outage).fill("jobs wait for PostgreSQL"));
    // the next outage begins after PostgreSQL has answered
    const before = lookups;
    await eventually(() => expect(lookups).toBeGreaterThan(before));
  }
  stop.abort();
  await running;
});

test("a runner killed during a fill loses no row", async () => {
  await apply(docs());
  await insertDocs(3_000);
  const jobs = await apply(docs(excerptColumn()));
  const script = await bundleScript(fileURLToPath(import.meta.resolve("@appdb/testkit/killed-runner")));
  const child = spawn(process.execPath, [script, dsn()], { stdio: "inherit" });
  const ended = new Promise((resolve) => child.once("exit", (_code, signal) => resolve(signal)));
  try {
    await eventually(async () => expect(await rows("select rows_done > 0 from appdb.jobs")).toEqual([["t"]]), {
      timeout_ms: 20_000,
    });
  } finally {
    child.kill("SIGKILL");
  }
  expect(await ended).toBe("SIGKILL");
  expect(await rows("select state from appdb.jobs")).toEqual([["running"]]);
  const later = { now: () => Date.now() + 20_000 };
  const survivor = fakeWorkers({ excerpt: (row) => `<${row.title}>` });
  await finish(jobs, deps({ udf: survivor.udf, owner: "survivor", clock: later }));
  expect(survivor.runner.calls.length).toBeLessThan(3_000);
  expect(await rows("select count(*) from docs where excerpt = '<' || title || '>' and _errors is null")).toEqual([
    ["3000"],
  ]);
  expect(await isInAgreement(docs(excerptColumn()))).toBe(true);
});
