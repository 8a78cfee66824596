import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { dataColumn, dataTable } from "@appdb/contract/testing/tables";
import { afterAll, expect, test } from "vitest";
import { type DaemonAnswers, runCli } from "../../testing/fake-context.ts";

const folder = mkdtempSync(join(tmpdir(), "appdb-exports-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TITLE = dataColumn("title", "String | None");
const TABLES = [
  dataTable("chunks", { view_of: "docs", rows_by: "string_splitter(title)", rows: 12 }),
  dataTable("docs", {
    columns: [
      dataColumn("id", "Int", { is_key: true }),
      TITLE,
      dataColumn("loud", "String", { value: "upper(title)", is_computed: true }),
    ],
    indexes: [{ name: "by_title", kind: "btree", columns: ["title"], metric: null }],
    errors: 2,
  }),
  dataTable("long", { view_of: "chunks", rows_by: "pos > 3" }),
  dataTable("reports/days"),
];

const DOCS: DaemonAnswers = {
  tableList: async () => ({ tables: TABLES, folders: [] }),
  tableShow: async () => TABLES[1] ?? dataTable("docs"),
  rowList: async () => ({
    rows: [
      { id: 2, title: "two", loud: "TWO" },
      { id: 1, title: null, loud: null },
    ],
    next: "abc",
  }),
  rowShow: async () => ({ id: 2, title: null, loud: "TWO" }),
  rowCount: async () => ({ count: 7 }),
  databaseList: async () => [],
};

const run = (words: string, client: DaemonAnswers = DOCS) => runCli(words, { client });

test("ls shows what is directly in a database or a folder", async () => {
  expect((await run("ls main")).stdout).toBe(
    [
      "main/chunks   view of docs    12 rows  1 column",
      "main/docs     table           1 row    3 columns  2 failed cells",
      "main/long     view of chunks  1 row    1 column",
      "main/reports  folder",
      "",
    ].join("\n"),
  );
  expect((await run("ls main/reports")).stdout).toBe("main/reports/days  table  1 row  1 column\n");
  expect((await run("ls main/docs")).stdout).toContain("main/docs  table");
  expect((await run("ls")).stderr).toContain("There are no databases.");
});

test("ls shows folders without tables", async () => {
  const client = { ...DOCS, tableList: async () => ({ tables: [], folders: ["drafts", "drafts/old"] }) };
  expect((await run("ls main", client)).stdout).toBe("main/drafts  folder\n");
  expect((await run("ls main/drafts/old", client)).stderr).toBe("main/drafts/old has no tables.\n");
  expect((await run("ls main --tree", client)).stdout).toBe("drafts   folder\n    old  folder\n");
});

test("ls and describe mark estimated numbers of rows", async () => {
  const large = dataTable("docs", { rows: 50_000, is_rows_estimated: true });
  const client = { ...DOCS, tableList: async () => ({ tables: [large], folders: [] }), tableShow: async () => large };
  expect((await run("ls main", client)).stdout).toBe("main/docs  table  ~50000 rows  1 column\n");
  expect((await run("describe main/docs", client)).stdout).toContain("    ~50000 rows, 8.0 KiB\n");
  expect(JSON.parse((await run("ls main --json", client)).stdout).entries[0]).toMatchObject({
    rows: 50_000,
    is_rows_estimated: true,
  });
});

test("ls --tree shows views below what they are over", async () => {
  const { stdout } = await run("ls main --tree");
  expect(stdout.split("\n").map((line) => line.split("  ").filter(Boolean)[0])).toEqual([
    "docs",
    "chunks",
    "long",
    "reports",
    "days",
    undefined,
  ]);
  expect(stdout).toMatch(/^docs .*\n {4}chunks .*\n {8}long .*\nreports .*\n {4}days /);
});

test("describe shows columns with what computes them, and indexes", async () => {
  const { stdout } = await run("describe main/docs");
  expect(stdout).toContain("main/docs  table\n    1 row, 8.0 KiB, 2 failed cells\n");
  expect(stdout).toMatch(/loud +String +.*= upper\(title\)/);
  expect(stdout).toMatch(/index by_title +title +btree/);
});

test("rows shows a page, and how to see the next one", async () => {
  const ran = await run("rows main/docs -n 2");
  expect(ran.stdout).toBe("id  title  loud\n2   two    TWO\n1\n");
  expect(ran.stderr).toBe("more: cli rows main/docs -n 2 --cursor abc\n");
  const { stdout } = await run("rows main/docs --columns title --json");
  expect(JSON.parse(stdout)).toEqual({ rows: [{ title: "two" }, { title: null }], next: "abc" });
  expect((await run("rows main/docs --columns titel")).stderr).toBe(
    'error: main/docs has no column "titel".\nhint: It has id, title, loud.\n',
  );
});

test("get shows a row, a column a line, and sends the texts of the key", async () => {
  let sent: unknown;
  const client: DaemonAnswers = {
    ...DOCS,
    rowShow: async (query) => {
      sent = query;
      return { id: 2, title: null, loud: "TWO" };
    },
  };
  expect((await run("get main/docs 2", client)).stdout).toBe("id     2\ntitle  null\nloud   TWO\n");
  expect(sent).toEqual({ key: '["2"]' });
});

test("count prints the number alone", async () => {
  expect((await run("count main/docs")).stdout).toBe("7\n");
  expect(JSON.parse((await run("count main/docs --json")).stdout)).toEqual({ path: "main/docs", count: 7 });
});

test("columns and indexes list those of a database, and refuse what does not exist", async () => {
  expect((await run("columns main --computed")).stdout).toBe("main/docs  loud  String    = upper(title)\n");
  expect((await run("indexes main")).stdout).toBe("main/docs  by_title  title  btree\n");
  expect((await run("indexes main/none")).stderr).toBe(
    "error: main/none is neither a table nor a folder.\nhint: List the tables: cli ls main\n",
  );
});

test("an error of the daemon is the command's", async () => {
  const client: DaemonAnswers = {
    ...DOCS,
    rowCount: async () => {
      throw appError("table_not_found", { detail: "Table main/nope does not exist." });
    },
  };
  const ran = await run("count main/nope", client);
  expect([ran.exit, ran.stderr]).toEqual([1, "error: Table main/nope does not exist.\n"]);
});

test("rows and count take a condition, rows also an order", async () => {
  const asked: unknown[] = [];
  const client: DaemonAnswers = {
    ...DOCS,
    rowList: async (input: unknown) => {
      asked.push(input);
      return { rows: [{ id: 2, title: "two", loud: "TWO" }], next: "abc" };
    },
    rowCount: async (input: unknown) => {
      asked.push(input);
      return { count: 1 };
    },
  };
  const words = ["rows", "main/docs", "--where", "id > 1", "--order-by", "id:desc"];
  const { stderr } = await runCli(words, { client });
  expect(stderr).toContain("more: cli rows main/docs -n 10 --where 'id > 1' --order-by id:desc --cursor abc");
  await runCli(["count", "main/docs", "--where", "id > 1"], { client });
  expect(asked).toMatchObject([{ limit: 10, where: "id > 1", order_by: "id:desc" }, { where: "id > 1" }]);
});

test("export writes texts of Json columns as JSON in CSV", async () => {
  const json = dataTable("docs", { columns: [dataColumn("id", "Int"), dataColumn("meta", "Json | None")] });
  const rows = ["text", "5", 5, null, [1]].map((meta, id) => ({ id, meta }));
  const client: DaemonAnswers = { ...DOCS, tableShow: async () => json, rowList: async () => ({ rows, next: null }) };
  expect((await run("export main/docs", client)).stdout).toBe('id,meta\n0,"""text"""\n1,"""5"""\n2,5\n3,\n4,[1]\n');
});

test("export writes files as addresses that an insert takes", async () => {
  const columns = [dataColumn("id", "Int"), dataColumn("photo", "Image[(8, 8)] | None", { is_computed: true })];
  const uri = "mediafs://main/home/5f/5f2d.png";
  const [address, url] = ["/v1/databases/main/file?token=x", "https://example.com/a.png"];
  const files = [{ address, uri, type: "image/png" }, { address, url }, { address }, null];
  const rows = files.map((photo, id) => ({ id, photo }));
  const client: DaemonAnswers = {
    ...DOCS,
    tableShow: async () => dataTable("docs", { columns }),
    rowList: async () => ({ rows, next: null }),
  };
  expect((await run("export main/docs", client)).stdout).toBe(`id,photo\n0,${uri}\n1,${url}\n2,${address}\n3,\n`);
  expect((await run("export main/docs --format jsonl", client)).stdout).toBe(
    [uri, url, address, null].map((photo, id) => `${JSON.stringify({ id, photo })}\n`).join(""),
  );
});

test("export separates the cells of a .tsv file by tabs", async () => {
  const rows = [
    { id: 1, title: "a\tb", loud: "c,d" },
    { id: 2, title: null, loud: "" },
  ];
  const client: DaemonAnswers = { ...DOCS, rowList: async () => ({ rows, next: null }) };
  await run(`export main/docs -o ${folder}/docs.TSV`, client);
  expect(readFileSync(`${folder}/docs.TSV`, "utf8")).toBe('id\ttitle\tloud\n1\t"a\tb"\t"c,d"\n2\t\t""\n');
  expect((await run(`export main/docs --format csv -o ${folder}/docs.txt`, client)).exit).toBe(0);
  expect(readFileSync(`${folder}/docs.txt`, "utf8")).toMatch(/^id,title,loud\n/);
});

test("export writes all pages as CSV or JSON lines, and Parquet only to a file", async () => {
  const asked: unknown[] = [];
  const client: DaemonAnswers = {
    ...DOCS,
    rowList: async (query) => {
      asked.push(query);
      const isFirst = query.cursor === undefined;
      return { rows: [{ id: isFirst ? 2 : 1, title: isFirst ? "a,b" : null, loud: "" }], next: isFirst ? "abc" : null };
    },
  };
  const csv = await run("export main/docs --where id<9", client);
  expect(csv.stdout).toBe('id,title,loud\n2,"a,b",""\n1,,""\n');
  expect(csv.stderr).toBe("main/docs: 2 rows\n");
  expect(asked).toMatchObject([
    { limit: 1000, where: "id<9" },
    { limit: 1000, where: "id<9", cursor: "abc" },
  ]);
  const lines = await run("export main/docs --format jsonl --columns id,title", client);
  expect(lines.stdout).toBe('{"id":2,"title":"a,b"}\n{"id":1,"title":null}\n');
  expect((await run("export main/docs --format parquet", client)).stderr).toContain(
    "hint: Name the file: -o docs.parquet",
  );
  expect((await run("export main/docs -o docs.json", client)).stderr).toContain("--format jsonl");
  for (const out of ["docs.xlsx", "docs.txt", "docs.csv.gz"]) {
    const { exit, stderr } = await run(`export main/docs -o ${out}`, client);
    expect(exit).toBe(2);
    expect(stderr).toMatch(
      /ends in \.(xlsx|txt|gz), which is not a format .*\n.*\.csv, \.tsv, \.jsonl, \.ndjson, \.parquet/,
    );
  }
  expect((await run("export main/docs --format csv -o docs.xlsx", client)).stderr).toContain("ends in .xlsx, which");
  expect((await run("export main/docs --format csv -o docs.parquet", client)).stderr).toContain(
    "docs.parquet ends in .parquet, and --format says csv.",
  );
  expect((await run("export main/docs --format xml", client)).stderr).toContain("expected csv, jsonl or parquet");
  expect((await run("export main/docs --json", client)).stderr).toContain("--json describes a written file.");
  expect((await run("export main/docs -o /none/docs.csv", client)).stderr).toContain(
    "/none/docs.csv cannot be written",
  );
});
