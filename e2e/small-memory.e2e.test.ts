import { execFile } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { useSandbox } from "@appdb/testkit/sandbox";
import { ROOT, type TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { isAvailable, startWithAcme } from "./support/hosted.ts";
import { expectExit, expectProblem, makeProject, writeFile } from "./support/served.ts";

const SMALL = "cloud://acme:small";
const DOCS = `${SMALL}/docs`;
/** Of each file. `npm run test:faults` has more. */
const ROWS = process.env.APPDB_FAULTS === "long" ? 100 : 40;
const CELL = 600_000;

const APP = `import appdb as db
from appdb.functions import uuid7

Base = db.model_base()


@db.udf
def words(body: str) -> int:
    return len(body.split())


class Docs(Base, name="docs"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    body: db.String
    size = body.len()
    words = words(body)


class Trees(Base, name="trees"):
    id = db.Column(value=uuid7(), primary_key=True)
    data: db.Json
`;

/** Inserts rows by the library, and reads them. Prints how many it read, and the words of all cells. */
const PROGRAM = `import sys
import appdb as db

docs = db.get_table(sys.argv[1])
body = "lorem ipsum " * (${CELL} // 12)
docs.insert([{"title": f"l{at}", "body": body} for at in range(${ROWS})])
docs.insert({"title": f"r{at}", "body": body} for at in range(10))
stored = docs.insert([{"title": f"r{at}", "body": body} for at in range(30)], return_rows=True).rows
rows = docs.select(docs.title, docs.body, docs.words).limit(60).collect()
print(len(stored), len(rows), {row["words"] for row in rows})
`;

if ((await useSandbox()) !== undefined) {
  test("a database with 256 MB stores, computes and exports large cells, and says when memory was short", async () => {
    await using project = await makeProject(APP, { env: { SERVICE_PODS: "" } });
    await startWithAcme(project);
    writeFile(project, "service.toml", `[[service.database]]\nname = "${SMALL}"\nmemory_mb = 256\n`);
    await expectExit(project, 0, "db", "update", SMALL, "-f");
    await isAvailable(project, SMALL);
    await expectExit(project, 0, "schema", "update", "app.py", SMALL);
    const body = "lorem ipsum ".repeat(CELL / 12);
    await writeRows(project, "rows.jsonl", (at) => JSON.stringify({ title: `j${at}`, body }));
    await writeRows(project, "rows.csv", (at) => (at === 0 ? "title,body" : `c${at},${body}`));

    for (const file of ["rows.jsonl", "rows.csv"]) await expectExit(project, 0, "insert", DOCS, file);
    expect(await runLibrary(project)).toBe("30 60 {100000}\n");
    await expectExit(project, 0, "export", DOCS, "-o", "out.jsonl", "--where", "title like 'j%'");
    expect(await pods(project)).toMatchObject([{ state: "READY", restarts: 0, ended_by_memory: null }]);

    // one row that no pod of this size can hold: an object needs many times its text
    writeFile(project, "huge.jsonl", `{"data": [${Array(2_700_000).fill("{}").join(",")}]}\n`);
    expect(await expectProblem(project, 1, "insert", `${SMALL}/trees`, "huge.jsonl")).toMatchObject({
      code: "commit_unknown",
      detail: expect.stringMatching(
        /may or may not be stored\. Its pod needed more memory than the memory_mb .* 256 MB/,
      ),
      hint: expect.stringContaining(`Give it more memory_mb in its entry of service.toml: cli db update ${SMALL}`),
    });
    await isAvailable(project, SMALL);
    expect(await pods(project)).toMatchObject([{ restarts: 1, ended_by_memory: { memory_mb: 256 } }]);
    expect((await expectExit(project, 0, "db", "status", SMALL)).stdout).toContain(
      "more memory than its memory_mb of 256",
    );
    expect((await expectExit(project, 1, "health", SMALL)).stdout).toContain(`cli db update ${SMALL}`);

    writeFile(project, "service.toml", `[[service.database]]\nname = "${SMALL}"\nmemory_mb = 1024\n`);
    await expectExit(project, 0, "db", "update", SMALL, "-f");
    await isAvailable(project, SMALL);
    await expectExit(project, 0, "health", SMALL);
    await expectExit(project, 0, "insert", `${SMALL}/trees`, "huge.jsonl");
  }, 600_000);
}

/** Writes a file of many rows without holding it in memory. */
async function writeRows(project: TestProject, name: string, row: (at: number) => string): Promise<void> {
  const file = createWriteStream(join(project.folder, name));
  for (let at = 0; at < ROWS; at++) {
    if (!file.write(`${row(at)}\n`)) await once(file, "drain");
  }
  await new Promise<void>((resolve) => file.end(resolve));
}

async function runLibrary(project: TestProject): Promise<string> {
  const env = { ...process.env, ...project.env, PYTHONPATH: join(ROOT, "python") };
  const python = join(ROOT, ".tools", "bin", "python");
  return (await promisify(execFile)(python, ["-c", PROGRAM, DOCS], { cwd: project.folder, env })).stdout;
}

async function pods(project: TestProject): Promise<readonly object[]> {
  return JSON.parse((await expectExit(project, 0, "db", "status", SMALL, "--json")).stdout).pods;
}
