import { eventually } from "@appdb/testkit/eventually";
import type { Started, TestProject } from "@appdb/testkit/test-project";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Hosted, send, startWithAcme } from "./support/hosted.ts";
import { expectExit, makeProject } from "./support/served.ts";

const HOSTED = "cloud://acme:main";
const LONG = process.env.APPDB_FAULTS === "long";
const TARGETS = ["main", HOSTED];

const APP = `import appdb as db

Base = db.model_base()


@db.udf
def shout(text: str) -> str:
    return text.upper()


class Notes(Base, name="notes"):
    number = db.Column(type=db.Int, primary_key=True)
    title: db.String
    loud = shout(title)
`;

let project: TestProject;
let hosted: Hosted;

beforeAll(async () => {
  project = await makeProject(APP);
  hosted = await startWithAcme(project);
  await expectExit(project, 0, "db", "update", HOSTED, "-f");
  for (const target of TARGETS) await expectExit(project, 0, "schema", "update", "app.py", target, "-f");
}, 240_000);
afterAll(async () => {
  await project?.[Symbol.asyncDispose]();
});

async function psql(line: string) {
  const { code, stderr, stdout } = await project.type(`cli psql ${line}`);
  return { code, stderr, stdout };
}

test.each(TARGETS)("%s without such a folder opens no session, and a table is not one", async (target) => {
  expect(await psql(`${target}/none -c 'select 1'`)).toEqual({
    code: 1,
    stdout: "",
    stderr: "error: The database has no folder none.\nhint: The database has no folder.\n",
  });
  expect((await psql(`${target}/notes -c 'select 1'`)).stderr).toContain("notes is a table, and a folder is expected.");
});

/** Opens an address, as a tool gets it. */
async function openUrl(target: string, options = ""): Promise<{ readonly started: Started; readonly url: string }> {
  const started = project.start(`cli psql ${target} ${options} --url`);
  const url = await eventually(
    () => {
      const found = /^postgresql:\S+$/m.exec(started.output())?.[0];
      if (found === undefined) throw new Error(started.output());
      return found;
    },
    { timeout_ms: 60_000 },
  );
  return { started, url };
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

const isGone = (url: string) => eventually(async () => await expect(connect(url)).rejects.toBeDefined());

describe.each(TARGETS)("psql at %s", (target) => {
  test("writes rows with a role that may, and a job computes their columns", async () => {
    const rows = "generate_series(1, 20) n";
    const written = await psql(
      `${target} --write -c "insert into notes (number, title) select n, 'note ' || n from ${rows}"`,
    );
    expect(written).toMatchObject({ code: 0, stdout: "INSERT 0 20\n" });
    await eventually(
      async () => {
        const read = await psql(`${target} -At -c "select loud from notes where number = 20 and _errors is null"`);
        expect(read).toMatchObject({ code: 0, stdout: "NOTE 20\n" });
      },
      { timeout_ms: 60_000 },
    );
  });

  test("runs the input, and has the status of psql", async () => {
    expect(await project.type(`echo 'select count(*) from notes' | cli psql ${target} -At`)).toMatchObject({
      code: 0,
      stdout: "20\n",
    });
    expect(await psql(`${target} -c "select nothing"`)).toMatchObject({ code: 1 });
    expect(await psql(`${target} -v ON_ERROR_STOP=1 -f missing.sql`)).toMatchObject({ code: 1 });
    expect(await psql(`${target} -c "delete from notes"`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("cannot execute DELETE in a read-only transaction"),
    });
    expect(await psql(`${target} -c "set default_transaction_read_only = off" -c "delete from notes"`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("permission denied for table notes"),
    });
    expect(await psql(`${target} -c "notify appdb_jobs"`)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("LISTEN and NOTIFY are not available"),
    });
  });

  test("shows tables, and copies many rows in both directions", async () => {
    expect((await psql(`${target} -c "\\d notes"`)).stdout).toContain('"notes.pkey" PRIMARY KEY');
    const copied = await psql(
      `${target} -c "\\copy (select n, repeat('x', 100) from generate_series(1, 200000) n) to rows.txt"`,
    );
    expect(copied).toMatchObject({ code: 0, stdout: "COPY 200000\n" });
    const written = await psql(
      `${target} --write -c "\\copy notes (number, title) from program 'seq 1000 1999 | sed s/$/,many/' csv"`,
    );
    expect(written).toMatchObject({ code: 0, stdout: "COPY 1000\n" });
    expect(await psql(`${target} --write -c "delete from notes where number >= 1000"`)).toMatchObject({ code: 0 });
  });

  test("gives other tools an address until Ctrl-C", async () => {
    const { started, url } = await openUrl(target);
    const client = await connect(url);
    expect((await client.query("select count(*)::int as n from notes")).rows).toEqual([{ n: 20 }]);
    const others = await Promise.all([1, 2, 3].map(() => connect(url)));
    await expect(connect(url)).rejects.toThrow(/connections/);
    // cancels over a connection of its own
    const running = client.query(
      "select count(*) from generate_series(1, 9000) a, generate_series(1, 9000) b, generate_series(1, 90) c",
    );
    const cancelled = expect(running).rejects.toMatchObject({ code: "57014" });
    const { processID, secretKey } = client as unknown as { processID: number; secretKey: number };
    const canceller = new pg.Client({ connectionString: url }) as unknown as {
      connection: {
        connect(port: number, host: string): void;
        cancel(pid: number, key: number): void;
        on(event: string, then: () => void): void;
      };
    };
    canceller.connection.on("connect", () => canceller.connection.cancel(processID, secretKey));
    canceller.connection.connect(Number(new URL(url).port), "127.0.0.1");
    await cancelled;
    await Promise.all([client, ...others].map((one) => one.end()));
    const attacked = new URL(url);
    attacked.username = "appdb_owner";
    await expect(connect(attacked.href)).rejects.toThrow(/only for the user/);
    attacked.username = new URL(url).username;
    attacked.password = "wrong";
    await expect(connect(attacked.href)).rejects.toThrow(/password authentication failed/);
    await expect(connect(url.replace(/\/[^/?]+\?/, "/postgres?"))).rejects.toThrow(/only for the user/);
    await started.interrupt("SIGINT");
    await isGone(url);
  });
});

test("a hosted session is in the audit log, and ends when its key is deleted", async () => {
  const made = await expectExit(project, 0, "key", "create", "tools", "--json");
  const { api_key: key } = JSON.parse(made.stdout) as { api_key: string };
  const started = project.start(`env SERVICE_API_KEY=${key} cli psql ${HOSTED} --url`);
  const url = await eventually(
    () => {
      const found = /^postgresql:\S+$/m.exec(started.output())?.[0];
      if (found === undefined) throw new Error(started.output());
      return found;
    },
    { timeout_ms: 60_000 },
  );
  const client = await connect(url);
  const lost = new Promise((resolve) => client.once("end", resolve));
  await expectExit(project, 0, "key", "delete", "tools");
  await lost;
  expect(await psql(`${HOSTED} --write -At -c "select 1"`)).toMatchObject({ code: 0, stdout: "1\n" });
  const events = await expectExit(project, 0, "events", "--json");
  expect(events.stdout).toContain('"database.psql"');
  expect(events.stdout).toContain('"database.psql_write"');
  expect((await send(`${hosted.url}/v1/orgs/acme/databases/main/psql`, key, "POST", {})).status).toBe(401);
});

test.runIf(LONG)(
  "a hosted session whose locks make others wait again and again ends, and says why",
  async () => {
    const { started, url } = await openUrl(HOSTED, "--write");
    let isOver = false;
    const hold = async () => {
      while (!isOver) {
        const client = await connect(url).catch(() => undefined);
        const lost = new Promise((resolve) => client?.once("end", resolve));
        // the connection can end while it waits for the lock
        const lock = client?.query("begin; lock table notes in access exclusive mode");
        if ((await lock?.catch(() => undefined)) !== undefined) await lost;
        await client?.end();
      }
    };
    const read = async () => {
      while (!isOver) await project.type(`cli query "select count(*) from notes" --target ${HOSTED}`);
    };
    const work = [hold(), hold(), hold(), read()];
    try {
      await eventually(() => expect(started.output()).toContain("locks of your sessions made others wait 3 times."), {
        timeout_ms: 100_000,
      });
    } finally {
      isOver = true;
      await started.interrupt("SIGINT");
      await Promise.all(work);
    }
    await isGone(url);
    expect(await psql(`${HOSTED} --write -At -c "select 1"`)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/made others wait too often. The database opens the next one in \d+ seconds/),
    });
  },
  150_000,
);
