import { execFile } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "@appdb/testkit/eventually";
import { ROOT, type TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { startWithAcme } from "./support/hosted.ts";
import { ensurePythonTools } from "./support/python-tools.ts";
import { expectExit, makeProject, writeFile } from "./support/served.ts";

const APP = `import appdb as db

Base = db.model_base()


class Kinds(Base, name="kinds"):
    id = db.Column(type=db.Int, primary_key=True)
    text: db.String | None
    ratio: db.Float | None
    done: db.Bool | None
    made: db.Timestamp | None
    day: db.Date | None
    code: db.UUID | None
    meta: db.Json | None
    bytes: db.Binary | None
    vector: db.Array[(3,), db.Float] | None
    boxes: db.Array[(None, 2), "int64"] | None
    words: db.Array[(None,), "str"] | None
    any: db.Array[db.Float] | None
    nothing: db.String | None


class Empty(Base, name="empty"):
    id = db.Column(type=db.Int, primary_key=True)
    meta: db.Json | None
`;
const ROWS = [
  '{"id": 9007199254740993, "text": "a,\\"b\\"\\n€", "ratio": 0.1, "done": true, "made": "2026-01-31T10:00:00.000001Z", "day": "1969-12-31", "code": "0190b6a4-0000-7000-8000-000000000001", "meta": {"z": [1, {"n": 9007199254740993}], "a": null}, "bytes": "AP8=", "vector": [0.5, 1, -2], "boxes": [[1, 2], [9007199254740993, 4]], "words": ["x", ""], "any": [[1.5]]}',
  '{"id": -1, "text": "", "ratio": -1e300, "done": false, "made": "1900-01-01T00:00:00Z", "day": "9999-12-31", "meta": "text", "bytes": "", "boxes": [], "words": []}',
  '{"id": 2}',
];

/** Compares the export of each column with the same rows as the library reads them, and writes a file of its own. */
const COMPARE = `import json, shutil, sys, uuid

import appdb as db
import pyarrow as pa
import pyarrow.parquet as pq
from appdb.io import export_parquet

target = sys.argv[1]
kinds = db.get_table(f"{target}/kinds")
read = pq.read_table("kinds.parquet").sort_by("id")
asked = kinds.order_by(kinds.id).collect().to_arrow()
assert read.schema.names == asked.schema.names, read.schema
for name in read.schema.names:
    ours, theirs = read.column(name).to_pylist(), asked.column(name).to_pylist()
    if name in ("meta", "any"):
        ours, theirs = ([None if v is None else json.loads(v) for v in values] for values in (ours, theirs))
    assert ours == theirs, (name, ours, theirs)
assert read.column("id").to_pylist() == [-1, 2, 2**53 + 1]
assert read.schema.field("made").type == pa.timestamp("us", "UTC"), read.schema
assert read.schema.field("nothing").type == pa.string(), read.schema
assert read.column("made").to_pylist()[2].microsecond == 1
assert json.loads(read.column("meta").to_pylist()[2])["z"][1]["n"] == 2**53 + 1
empty = pq.read_table("empty.parquet")
assert empty.num_rows == 0 and empty.schema.names == ["id", "meta"], empty.schema

export_parquet(kinds, "lib.parquet")
assert pq.read_table("lib.parquet").equals(kinds.collect().to_arrow())
shutil.rmtree("parts", ignore_errors=True)
export_parquet(kinds.where(kinds.id > 0).select(kinds.id, kinds.text), "parts", partition_size_bytes=1)
assert sorted(pq.read_table("parts").column("id").to_pylist()) == [2, 2**53 + 1]
export_parquet(db.get_table(f"{target}/empty"), "none.parquet")
assert pq.read_table("none.parquet").num_rows == 0

made = pa.table({
    "ID": pa.array([1, 2**53 + 2, 3]),
    "text": pa.array(["a", None, ""]).dictionary_encode(),
    "ratio": pa.array([1.5, float("nan"), None]),
    "made": pa.array([1769853600000000001, None, -1], pa.timestamp("ns", "UTC")),
    "code": pa.array([uuid.UUID(int=1), None, None], pa.uuid()),
    "meta": pa.array([{"x": [1, 2], "y": None}, None, {"x": [], "y": 2**53 + 1}]),
    "vector": pa.array([[1, 2, 3], None, [0, 0, 0]], pa.list_(pa.float32(), 3)),
    "bytes": pa.array([b"\\x00\\xff", None, b""]),
})
for codec in ("snappy", "zstd", "gzip", "brotli", "none"):
    pq.write_table(made, f"made_{codec}.parquet", compression=codec, row_group_size=2)
`;
const CODECS = ["snappy", "zstd", "gzip", "brotli", "none"];
const MADE = [
  { id: 1, text: "a", ratio: 1.5, made: "2026-01-31T10:00:00Z", meta: { x: [1, 2], y: null }, bytes: "AP8=" },
  { id: 9007199254740994, text: null, ratio: null, made: null, meta: null, bytes: null },
  { id: 3, text: "", ratio: null, made: "1969-12-31T23:59:59.999999Z", meta: { x: [] }, bytes: "" },
];

async function rowsOf(project: TestProject, table: string): Promise<string> {
  const { stdout } = await expectExit(project, 0, "export", table, "--format", "jsonl");
  return stdout.split("\n").sort().join("\n").trim();
}

async function roundTrip(project: TestProject, python: string, target: string): Promise<void> {
  const table = `${target}/kinds`;
  await expectExit(project, 0, "insert", table, "rows.jsonl");
  const before = await rowsOf(project, table);
  await expectExit(project, 0, "export", table, "-o", "kinds.parquet");
  await expectExit(project, 0, "export", `${target}/empty`, "--format", "parquet", "-o", "empty.parquet");
  const env = { ...process.env, ...project.env, PYTHONPATH: join(ROOT, "python") };
  await promisify(execFile)(python, ["compare.py", target], { cwd: project.folder, env });
  await expectExit(project, 0, "delete", table, "--where", "true", "-f");
  await expectExit(project, 0, "insert", table, "kinds.parquet");
  expect(await rowsOf(project, table)).toBe(before);
  // the command reads files, for any target
  for (const codec of target === "main" ? CODECS : CODECS.slice(0, 1)) {
    await expectExit(project, 0, "delete", table, "--where", "true", "-f");
    await expectExit(project, 0, "insert", table, `made_${codec}.parquet`);
    const rows = (await rowsOf(project, table)).split("\n").map((line) => JSON.parse(line));
    for (const made of MADE) expect(rows).toContainEqual(expect.objectContaining(made.id === 3 ? { id: 3 } : made));
  }
}

test("pyarrow reads exported Parquet, and its own files are inserted, local and hosted", async () => {
  await using project = await makeProject(APP);
  const python = join(await ensurePythonTools("library"), "python");
  writeFile(project, "compare.py", COMPARE);
  writeFile(project, "rows.jsonl", ROWS.join("\n"));
  await expectExit(project, 0, "schema", "update", "app.py", "main", "-f");
  await roundTrip(project, python, "main");
  await startWithAcme(project);
  await expectExit(project, 0, "db", "update", "cloud://acme:main", "-f");
  await expectExit(project, 0, "schema", "update", "app.py", "cloud://acme:main", "-f");
  await roundTrip(project, python, "cloud://acme:main");
  await refuseEarly(project, "cloud://acme:main");
}, 300_000);

test("a slow pipe gets all rows of SQL, and output that cannot be written is an error of each command", async () => {
  await using project = await makeProject(APP);
  await expectExit(project, 0, "schema", "update", "app.py", "main", "-f");
  const asked = 'cli query "select generate_series(1, 400000)" --csv';
  // the pipe is full long before the rows end
  expect((await project.type(`${asked} | (sleep 2; wc -l)`)).stdout.trim()).toBe("400001");
  expect((await project.type(`${asked} | head -1`)).stdout).toBe("generate_series\n");
  if (process.platform !== "linux") return;
  for (const command of [
    "ls main",
    "count main/kinds",
    "export main/kinds",
    asked.slice(4),
    "config --json",
    "--version",
  ]) {
    const { code, stderr } = await project.type(`cli ${command} > /dev/full`);
    expect([command, code]).toEqual([command, 1]);
    expect(stderr).toContain("error: The output of the command cannot be written: ");
  }
  const file = await project.type("cli export main/kinds -o /dev/full");
  expect(file).toMatchObject({ code: 1, stderr: expect.stringContaining("/dev/full cannot be written: no space") });
});

test("the request of docs/data-api.md reaches the daemon", async () => {
  await using project = await makeProject(APP);
  await expectExit(project, 0, "schema", "update", "app.py", "main", "-f");
  const [, typed = ""] = /```sh\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, "docs/data-api.md"), "utf8")) ?? [];
  const { stderr, stdout } = await project.type(typed);
  expect([stdout, stderr]).toEqual([expect.stringContaining('{"rows":[[1]]}'), ""]);
});

test("a cut-off export leaves no file, a cut-off insert no rows, and piped rows have no limit", async () => {
  await using project = await makeProject(APP);
  await expectExit(project, 0, "schema", "update", "app.py", "main", "-f");
  const lines = Array.from({ length: 60_000 }, (_, id) => JSON.stringify({ id, text: "x".repeat(100) }));
  writeFileSync(join(project.folder, "many.jsonl"), lines.join("\n"));
  // more than commands read of a secret
  expect((await project.type("cat many.jsonl | cli insert main/kinds -")).stdout).toContain("60000 rows inserted");

  const exporting = project.start("cli export main/kinds -o many.parquet");
  await eventually(() => expect(readdirSync(project.folder).join()).toContain(".part"));
  expect(await exporting.interrupt("SIGINT")).not.toBe(0);
  expect(readdirSync(project.folder).filter((name) => /parquet/.test(name))).toEqual([]);

  await expectExit(project, 0, "delete", "main/kinds", "--where", "true", "-f");
  await refuseEarly(project, "main");
  writeFileSync(join(project.folder, "cut.csv"), `id,text\n${lines.map((_, id) => `${id},x`).join("\n")}\n"`);
  expect((await project.cli("insert", "main/kinds", "cut.csv")).stderr).toContain("cut.csv, line 60002: The quote");
  expect((await expectExit(project, 0, "count", "main/kinds")).stdout).toBe("0\n");
  expect(readFileSync(join(project.folder, "many.jsonl"), "utf8").length).toBeGreaterThan(1_000_000);
});

/** Inserts a file whose first row is wrong: the server refuses it while the command still sends. */
async function refuseEarly(project: TestProject, target: string): Promise<void> {
  const lines = Array.from({ length: 60_000 }, (_, id) => JSON.stringify({ id: id + 10, text: "x".repeat(100) }));
  writeFileSync(join(project.folder, "wrong.jsonl"), ['{"id": "x"}', ...lines].join("\n"));
  const { code, stderr } = await project.cli("insert", `${target}/kinds`, "wrong.jsonl");
  expect([code, stderr]).toEqual([1, expect.stringContaining("Line 1: id: Expected an integer")]);
}
