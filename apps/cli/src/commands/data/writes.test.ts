import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { notAvailable } from "@appdb/contract/control/database-advice";
import { type AppError, appError, type FieldError } from "@appdb/contract/errors";
import { dataColumn, dataTable } from "@appdb/contract/testing/tables";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeContext, runCli } from "../../testing/fake-context.ts";

const DOCS = dataTable("docs", {
  columns: [
    dataColumn("id", "Int", { is_key: true }),
    dataColumn("title", "String | None"),
    dataColumn("note", "String"),
    dataColumn("score", "Float | None"),
    dataColumn("done", "Bool | None"),
    dataColumn("meta", "Json | None"),
    dataColumn("made", "Timestamp | None"),
  ],
});
const PRICES = dataTable("prices", {
  columns: [dataColumn("country", "String", { is_key: true }), dataColumn("day", "Date", { is_key: true })],
});
const NO_KEY = dataTable("logs", { columns: [dataColumn("text", "String")] });

const folder = mkdtempSync(join(tmpdir(), "appdb-writes-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Sent {
  readonly name: string;
  readonly query: unknown;
  readonly body: string;
  readonly type: string | undefined;
}
let sent: Sent[] = [];
beforeEach(() => {
  sent = [];
});

type Body = string | AsyncIterable<Uint8Array>;

async function textOf(sent: Body = ""): Promise<string> {
  if (typeof sent === "string") return sent;
  const pieces: Uint8Array[] = [];
  for await (const piece of sent) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}

/** How the daemon refuses a write. */
let refusal: AppError | undefined;
afterEach(() => {
  refusal = undefined;
});

/** A daemon that records what writes send. */
function daemon(table = DOCS, errors = 0) {
  const record = async (name: string, input: { query?: unknown; sent?: Body }, headers?: object) => {
    const body = await textOf(input.sent);
    if (refusal !== undefined) throw refusal;
    sent.push({ name, query: input.query, body, type: (headers as Record<string, string>)?.["content-type"] });
    const rows = body.split("\n").filter((line) => line !== "").length;
    return { inserted: rows, updated: 2, deleted: 3, errors };
  };
  const client = {
    call: async (name: string, input: object) => {
      if (name === "tableShow") return table;
      if (name === "rowCount") return { count: 7 };
      return record(name, input);
    },
    text: async (name: string, input: object, options: { headers?: object }) =>
      JSON.stringify(await record(name, input, options.headers)),
  };
  const ensure = async () => client as never;
  return {
    ensure,
    find: async () => undefined,
    waitUntilGone: async () => undefined,
    endHung: async () => "SIGTERM" as const,
  };
}

const run = (words: readonly string[], given: FakeContext = {}, table = DOCS, errors = 0) =>
  runCli(words, { cwd: folder, ...given, context: { daemon: daemon(table, errors), ...given.context } });
const file = (name: string, content: string | Uint8Array) => {
  writeFileSync(join(folder, name), content);
  return name;
};
const lines = () => sent[0]?.body.split("\n");

describe("insert", () => {
  test("sends lines unchanged, with the digits of integers", async () => {
    const text = '{"id": 9223372036854775807}\n\n{"id": 2}\n';
    const { stdout } = await run(["insert", "main/docs", file("a.jsonl", text)]);
    expect(stdout).toBe("2 rows inserted into main/docs\n");
    expect(sent).toMatchObject([
      { name: "rowInsert", query: { on_error: "abort", return_rows: "0" }, type: "application/x-ndjson" },
    ]);
    expect(lines()?.slice(0, 3)).toEqual(['{"id": 9223372036854775807}', "", '{"id": 2}']);
  });

  test("takes an array and the input, and reports failed cells", async () => {
    const json = file("a.json", '[{"id": 9223372036854775807, "title": "x"}, {"id": 2}]');
    const { stderr } = await run(["insert", "main/docs", json, "--on-error", "ignore"], {}, DOCS, 3);
    expect(lines()?.slice(0, 2)).toEqual(['{"id":9223372036854775807,"title":"x"}', '{"id":2}']);
    expect(sent[0]?.query).toMatchObject({ on_error: "ignore" });
    expect(stderr).toContain("3 cells failed");
    const context = {
      streamInput: async function* () {
        yield Buffer.from('{"id": 1}\n{"i');
        yield Buffer.from('d": 2}');
      },
    };
    expect((await run(["insert", "main/docs", "-", "--json"], { context })).stdout).toContain('"inserted": 2');
  });

  test("reads CSV: quotes, separators, empty cells, types, and lines for errors", async () => {
    const csv =
      'id,Title,note,score,done,meta,made\r\n1,"a ""b"",\nc",,1.5,TRUE,"{""k"": [1]}",2026-01-02\r\n\r\n2,,"",,,,\r\n';
    await run(["insert", "main/docs", file("a.csv", csv)]);
    expect(lines()).toEqual([
      "",
      '{"id":1,"title":"a \\"b\\",\\nc","note":"","score":1.5,"done":true,"meta":{"k": [1]},"made":"2026-01-02"}',
      "",
      "",
      '{"id":2,"title":null,"note":"","score":null,"done":null,"meta":null,"made":null}',
      "",
    ]);
  });

  test.each([
    ["utf8 with a mark", Buffer.from("\uFEFFid;title\n1;ä\n")],
    ["utf16", Buffer.from("\uFEFFid\ttitle\n1\tä\n", "utf16le")],
  ])("decodes CSV in %s", async (_name, content) => {
    await run(["insert", "main/docs", file("b.csv", content)]);
    expect(lines()?.[1]).toBe('{"id":1,"title":"ä"}');
  });

  test("reads JSON of a file with another ending", async () => {
    await run(["insert", "main/docs", file("a.txt", '\n{"id": 1}\n')]);
    expect(lines()).toContain('{"id": 1}');
  });

  test.each([
    ["CSV", "id,title\n1,x\n", ['{"id":1,"title":"x"}']],
    ["CSV in quotes", '"id";"title"\n1;x\n', ['{"id":1,"title":"x"}']],
    ["JSON lines", '\n{"id":1}\n', ['{"id":1}']],
    ["a JSON array", '[{"id":1}]', ['{"id":1}']],
    ["no rows", "", []],
  ])("reads a file without an ending by its content: %s", async (_name, content, expected) => {
    await run(["insert", "main/docs", file("rows", content)]);
    expect(lines()?.filter((line) => line !== "")).toEqual(expected);
  });

  test.each([
    ["a.txt", "csv", "id,title\n1,x\n", ['{"id":1,"title":"x"}']],
    ["a.json", "jsonl", '{"id":1}\n{"id":2}\n', ['{"id":1}', '{"id":2}']],
    ["rows", "jsonl", '{"id":1}\n', ['{"id":1}']],
  ])("reads %s as the chosen format %s", async (name, format, content, expected) => {
    await run(["insert", "main/docs", file(name, content), "--format", format]);
    expect(lines()?.filter((line) => line !== "")).toEqual(expected);
  });

  test("refuses a chosen format that differs from the file's ending", async () => {
    const words = ["insert", "main/docs", file("a.csv", "id\n1\n"), "--format", "jsonl"];
    expect((await run(words)).stderr).toContain("a.csv ends in .csv, and --format says jsonl.");
    expect(sent).toEqual([]);
  });

  test.each([
    ["a.csv", "id,title\n1,x\n2\n", "a.csv, line 3: 1 cells, and the header has 2 columns."],
    ["a.csv", 'id,title\n1,"x\n', "a.csv, line 2: The quote that begins a cell does not end."],
    ["a.csv", 'id,title\n1,"x"y\n', "a.csv, line 2: Expected the end of the cell after its quote."],
    ["a.csv", "", "a.csv is empty."],
    ["a.csv", "id,titel\n1,x\n", 'main/docs has no column "titel".'],
    ["a.csv", "id,title,ID\n1,x,2\n", "The header names the column id of main/docs twice."],
    ["a.csv", 'id,meta\n1,5\n\n2,"{bad"\n', 'a.csv, line 4: "{bad" is not JSON, which the column meta takes.'],
    ["a.csv", Buffer.from("id\n1\n\xff\n", "latin1"), "a.csv is not UTF-8, at line 3."],
    ["a.json", "[1]", "Row 1 of a.json is not a JSON object."],
    ["a.json", "[{", "a.json is not JSON"],
    ["a.csv", "id,,title\n1,,x\n2,y,z\n", 'a.csv, line 3: "y" is in a column without a name.'],
    ["a.jsonl", '{"id": 1}\n{"id": 2, "ID": 3}\n', "a.jsonl, line 2: The column id has several values."],
    ["a.xlsx", "id,title\n1,x\n", "a.xlsx is an Excel file or another archive, which this command does not read."],
    ["a.txt", "some prose\n", 'main/docs has no column "some prose". The file a.txt names it.'],
    ["a.txt", "PK\u0003\u0004...", "a.txt is an Excel file or another archive, which this command does not read."],
    ["rows", "some prose\n", 'main/docs has no column "some prose". The file rows names it.'],
    ["rows", "PK\u0003\u0004...", "rows is an Excel file or another archive, which this command does not read."],
    ["a.xlsx", "PK\u0003\u0004...", "a.xlsx is an Excel file or another archive, which this command does not read."],
    ["a.csv.gz", Buffer.from("1f8b0800", "hex"), "a.csv.gz is packed by gzip, which this command does not unpack."],
  ])("refuses %s with %j", async (name, content, expected) => {
    const { exit, stderr } = await run(["insert", "main/docs", file(name, content)]);
    expect([exit === 0, sent]).toEqual([false, []]);
    expect(stderr).toContain(expected);
    expect(stderr).toContain("hint: ");
  });

  test.each([
    ["a.json", '[{"id": 1},\n\n{"id": "x"}]', "Row 2: id: Expected an integer."],
    ["a.jsonl", '{"id": 1}\n{"id": "x"}', "Line 2: id: Expected an integer."],
  ])("counts rows of %s where rows are not lines", async (name, content, expected) => {
    const errors = [{ pointer: "/1/id", detail: "Line 2: id: Expected an integer." }];
    refusal = appError("invalid_request", { detail: `${errors[0]?.detail} Nothing was stored.`, errors });
    const { stderr, stdout } = await run(["insert", "main/docs", file(name, content), "--json"]);
    expect(stderr).toContain(expected);
    expect(JSON.parse(stdout).errors[0].detail).toBe(expected);
  });

  test("names the columns of the table, not inputs of a route", async () => {
    const detail = 'Line 1: titel: The route takes no field "titel". Did you mean "title"?';
    const hint = "The route takes: id?, title?";
    refusal = appError("invalid_request", { detail, hint, errors: [{ pointer: "/0/titel", detail }] });
    const { stderr, stdout } = await run(["insert", "main/docs", file("a.jsonl", '{"titel": 1}'), "--json"]);
    expect(stderr + stdout).not.toContain("The route");
    expect(stderr).toContain('Line 1: titel: main/docs has no column "titel". Did you mean "title"?');
    expect(stderr).toContain("hint: Its columns: id, title, ");
  });

  test("says what may be stored when it is interrupted", async () => {
    refusal = appError("interrupted", { detail: "The command was interrupted." });
    const { exit, stderr } = await run(["insert", "main/docs", file("a.jsonl", '{"id": 1}')]);
    expect([exit, stderr]).toEqual([
      130,
      "The command was interrupted. Either all rows are stored or none; most likely none.\n" +
        "hint: See how many rows there are: cli count main/docs\n",
    ]);
  });

  test("refuses a missing file, and no input", async () => {
    for (const name of ["none.csv", "none.xlsx", "none.parquet", "none"]) {
      expect((await run(["insert", "main/docs", name])).stderr).toContain(`There is no file ${name}.`);
    }
    expect((await run(["insert", "main/docs", "."])).stderr).toContain(". is a folder.");
    expect((await run(["insert", "main/docs", "-"])).stderr).toContain("Nothing is piped in.");
  });

  test("names the line of a media file that does not exist", async () => {
    const table = dataTable("docs", { columns: [dataColumn("picture", "Image[(64, 64)] | None")] });
    const { stderr } = await run(
      ["insert", "main/docs", file("m.csv", "picture\nhttps://x.example/a.png\nno.png\n")],
      {},
      table,
    );
    expect(stderr).toContain("line 3, picture: There is no file no.png on this machine.");
  });
});

describe("update", () => {
  test("changes the row of a key", async () => {
    const words = [
      "update",
      "main/docs",
      "9223372036854775807",
      "--set",
      "title=a=b",
      "--set",
      "score=",
      "--set",
      "done=true",
    ];
    expect((await run(words)).stdout).toBe("2 rows of main/docs updated\n");
    expect(sent[0]).toMatchObject({
      name: "rowUpdate",
      body: '{"rows":[{"id":9223372036854775807,"title":"a=b","score":null,"done":true}],"on_error":"abort"}',
    });
  });

  test("does not set the key, which would change another row", async () => {
    const ran = await run(["update", "main/docs", "1", "--set", "id=2"]);
    expect(ran.stderr).toContain("'id' is the key of main/docs, which cannot be set.");
    expect([ran.exit, sent]).toEqual([2, []]);
  });

  test("changes the rows of a condition", async () => {
    await run(["update", "main/docs", "--where", "id > 1", "--set", "score=0.5", "--set", "title=x", "--json"]);
    expect(JSON.parse(sent[0]?.body ?? "")).toEqual({
      where: "id > 1",
      set: {
        score: { node: "literal", value: "0.5", type: { kind: "json" }, nullable: false },
        title: { node: "literal", value: "x", type: { kind: "string" }, nullable: false },
      },
      on_error: "abort",
    });
  });

  test("takes addresses and files of this machine for a row's media", async () => {
    const columns = [dataColumn("id", "Int", { is_key: true }), dataColumn("photo", "Image | None")];
    const photos = dataTable("photos", { columns });
    const set = (value: string) => run(["update", "main/photos", "1", "--set", `photo=${value}`], {}, photos);
    await set("https://example.com/a.png");
    expect(sent[0]?.body).toContain('"photo":"https://example.com/a.png"');
    expect((await set("gone.png")).stderr).toContain("--set photo: There is no file gone.png on this machine.");
    expect(sent).toHaveLength(1);
  });

  test.each([
    [["main/docs", "--set", "title=x"], "Neither a key nor --where names the rows."],
    [["main/docs", "1", "--where", "true", "--set", "title=x"], "A key and --where cannot be used together."],
    [["main/docs", "1", "--set", "title"], "--set title has no value."],
    [["main/docs", "1", "--set", "meta={bad"], '"{bad" is not JSON, which meta takes.'],
    [["main/docs", "1", "--set", "titel=x"], 'main/docs has no column "titel".'],
  ])("refuses %j", async (words, expected) => {
    expect((await run(["update", ...words])).stderr).toContain(expected);
    expect(sent).toEqual([]);
  });
});

test("a refused value is named with its row as typed, its column and the column's type", async () => {
  const refused = (...errors: FieldError[]) =>
    appError("invalid_request", { detail: `${errors[0]?.detail} Nothing was changed.`, hint: "Takes: score", errors });
  refusal = refused({ pointer: "/rows/0/score", detail: '[0]: score: Expected a number, got "abc".' });
  expect((await run(["update", "main/docs", "42", "--set", "score=abc"])).stderr).toBe(
    'error: The row 42 of main/docs: score: Expected a number, got "abc". Nothing was changed.\n' +
      "hint: score is Float | None.\n",
  );
  refusal = refused({ pointer: "/score", detail: 'score: Expected a number, got "abc".' });
  expect((await run(["update", "main/docs", "--where", "true", "--set", "score=abc"])).stderr).toContain(
    'error: score: Expected a number, got "abc".',
  );
  refusal = refused(
    { pointer: "/keys/0/id", detail: '[0]: id: Expected an integer, got "a".' },
    { pointer: "/keys/1/id", detail: '[1]: id: Expected an integer, got "b".' },
  );
  const { stderr } = await run(["delete", "main/docs", "a", "b", "-f"]);
  expect(stderr).toContain('    /keys/1/id: The row "b" of main/docs: id: Expected an integer, got "b".\n');
  expect(stderr).toContain("hint: id is Int.\n");
});

test.each([
  ["count", []],
  ["rows", []],
  ["export", []],
  ["update", ["--set", "title=x"]],
  ["delete", ["-f"]],
])("an empty condition of cli %s names no rows", async (verb, more) => {
  for (const where of ["", " \t"]) {
    const { exit, stderr, stdout } = await run([verb, "main/docs", "--where", where, ...more]);
    expect({ exit, stdout, sent }).toEqual({ exit: 2, stdout: "", sent: [] });
    expect(stderr).toContain("is not a valid where: it is empty; all rows are --where true.\nhint: ");
  }
});

describe("delete", () => {
  test("asks with the number of rows, and deletes by keys", async () => {
    const keys = ["delete", "main/prices", "de", "2026-01-01", "fr", "2026-01-02"];
    const { stdout } = await run(keys, { answer: true }, PRICES);
    expect(stdout).toBe("3 rows of main/docs deleted\n".replace("docs", "prices"));
    expect(sent[0]).toMatchObject({ name: "rowDelete", body: '{"keys":[["de","2026-01-01"],["fr","2026-01-02"]]}' });
  });

  test("needs -f without a terminal, and says the command", async () => {
    const { exit, stderr } = await run(["delete", "main/docs", "--where", "score < 0.5"]);
    expect([exit, sent]).toEqual([3, []]);
    expect(stderr).toContain("there is no terminal: Permanently delete 7 rows of main/docs?");
    expect(stderr).toContain("cli delete main/docs --where 'score < 0.5' -f");
    await run(["delete", "main/docs", "--where", "score < 0.5", "-f"]);
    expect(sent[0]?.body).toBe('{"where":"score < 0.5"}');
  });

  test("deletes nothing when the answer is no", async () => {
    expect((await run(["delete", "main/docs", "1"], { answer: false })).stderr).toContain("the answer was no");
    expect(sent).toEqual([]);
  });

  test("refuses keys of a table without one, and a part of a key", async () => {
    expect((await run(["delete", "main/logs", "1"], {}, NO_KEY)).stderr).toContain("main/logs has no primary key.");
    expect((await run(["delete", "main/prices", "de"], {}, PRICES)).stderr).toContain(
      "The key of main/prices is (country, day): 2 values, not 1.",
    );
  });
});

test("an insert into a database that starts is refused as a write, although it reads the columns first", async () => {
  writeFileSync(join(folder, "one.jsonl"), "{}\n");
  const call = () => Promise.reject(notAvailable("cloud://acme:main", "STARTING", "read"));
  const starting = { ...daemon(), ensure: async () => ({ call }) as never };
  const { exit, stderr } = await run(["insert", "main/docs", "one.jsonl"], { context: { daemon: starting } });
  expect(exit).toBe(1);
  expect(stderr).toContain("cloud://acme:main is STARTING; it must be AVAILABLE to be written.");
});
