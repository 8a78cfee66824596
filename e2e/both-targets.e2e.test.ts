import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import type { TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { type Hosted, startHosted } from "./support/hosted.ts";
import { editFile, expectExit, makeProject } from "./support/served.ts";

const HOSTED = "cloud://acme:main";

const APP = `import appdb as db
import appdb.functions as fn
from appdb.serving import Router

Base = db.model_base()


@db.udf
def shout(text: str) -> str:
    if text == "mute":
        raise ValueError("no voice")
    return text.upper()


class Notes(Base, name="notes"):
    number = db.Column(type=db.Int, primary_key=True)
    title: db.String
    body: db.String | None
    loud = shout(title)
    length = title.len()


@db.query
def long_ones(least: int):
    return Notes.where(Notes.length >= least).order_by(Notes.number).select(Notes.number, Notes.loud)


notes = Router()
notes.add_insert_route(Notes, path="/notes", outputs=[Notes.number, Notes.loud, Notes.length])
notes.add_insert_route(Notes, path="/lenient", outputs=[Notes.number, Notes.loud], on_error="ignore")
notes.add_update_route(Notes, path="/notes/body", inputs=[Notes.body], outputs=[Notes.body])
notes.add_delete_route(Notes, path="/notes/remove")
notes.add_query_route(path="/long", query=long_ones, method="get")
notes.add_compute_route(Notes, path="/loud", inputs=[Notes.title], outputs=[Notes.loud])


@notes.get("/hello/{name}")
def hello(name: str) -> dict[str, str]:
    return {"hello": name}
`;

/** Commands of a user and requests of a program. Records all answers in words that name no target. */
interface Journey {
  readonly told: unknown[];
  /** Runs a command with --json and records its exit status and the outline of its answer. */
  run(words: string, args?: readonly string[]): Promise<void>;
  /** Sends a request and records status, type and body of the answer. */
  ask(method: string, path: string, body?: object | string, headers?: Record<string, string>): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: the test only compares answers
type Json = any;

/** Headers that matter to clients. */
const SAID = [
  "content-type",
  "allow",
  "etag",
  "link",
  "location",
  "vary",
  "cache-control",
  "preference-applied",
  "content-disposition",
];

/** Members that are equal for both targets; ids, times and paths differ. */
const OUTLINED = [
  "code",
  "status",
  "resolution",
  "in_agreement",
  "summary",
  "state",
  "name",
  "routes",
  "kind",
  "table",
  "columns",
  "cascade",
  "rows",
  "counts",
  "errors",
  "rows_done",
  "rows_total",
  "on_error",
  "count",
  "inserted",
  "updated",
  "deleted",
  "path",
  "title",
  "loud",
  "length",
  "number",
];
const LISTS = ["ops", "services", "jobs", "entries", "indexes"];
const OF_OPS = ["op", "severity", "description"];

function outline(json: Json): Json {
  if (Array.isArray(json)) return json.map(outline);
  const take = (from: Json, names: readonly string[]) =>
    Object.fromEntries(names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]]));
  const lists = LISTS.filter((name) => Array.isArray(json[name])).map((name) => [
    name,
    json[name].map((item: Json) => take(item, [...OUTLINED, ...OF_OPS])),
  ]);
  return { ...take(json, OUTLINED), ...Object.fromEntries(lists) };
}

test("local and hosted targets give the same answers", async () => {
  await using project = await makeProject(APP);
  for (const [name, text] of Object.entries(ROWS)) writeFileSync(join(project.folder, name), text);
  const hosted = await startHosted(project);
  const key = await openOrganization(project, hosted);
  const here = await journey(project, "main", {}, async () => undefined);
  const there = await journey(project, HOSTED, { "x-api-key": key }, async () => {
    await expectExit(project, 0, "db", "update", HOSTED, "-f");
  });
  expect(here.length).toBeGreaterThan(40);
  const statements = here.filter((step) => JSON.stringify(step).startsWith('["query '));
  expect(statements).toMatchObject([
    [expect.any(String), 0, { count: 2 }],
    ...Array.from({ length: 5 }, () => [expect.any(String), 1, { code: "sql_refused" }]),
    [expect.any(String), 0, { count: 1 }],
  ]);
  // equal failures of both targets would also be equal answers
  for (const [words, told] of WRITTEN) {
    const step = here.find((one) => Array.isArray(one) && one[0] === words);
    expect(step).toEqual([words, 0, expect.objectContaining(told)]);
  }
  for (const [at, step] of here.entries()) expect(there[at]).toEqual(step);
  expect(there.length).toBe(here.length);
}, 600_000);

/** `bring` updates the target to the current files. */
async function journey(
  project: TestProject,
  target: string,
  headers: Record<string, string>,
  bring: () => Promise<void>,
): Promise<unknown[]> {
  const { ask, run, told } = openJourney(project, target, headers);
  await bring();
  await run(`schema diff app.py ${target}`);
  await run(`service update app.py ${target} -f`);
  await run(`schema update app.py ${target}`);
  await run(`schema diff app.py ${target}`);
  await run(`service diff app.py ${target}`);
  await run(`service update app.py ${target}`);
  await run(`service update app.py ${target} -f`);
  await run(`service list ${target}`);

  await ask("POST", "/notes", { number: 1, title: "first" });
  await ask("POST", "/notes", { number: 2, title: "mute" });
  await ask("POST", "/notes", { number: 1, title: "again" });
  await ask("POST", "/notes", { number: "x", title: 5 });
  await ask("POST", "/notes", { number: 3, titel: "typo" });
  await ask("POST", "/notes", "{ no json");
  const once = { "idempotency-key": "one-and-only" };
  await ask("POST", "/notes", { number: 4, title: "é€😀" }, once);
  await ask("POST", "/notes", { number: 4, title: "é€😀" }, once);
  const lines = [5, 6, 7].map((number) => JSON.stringify({ number, title: "bulk" })).join("\n");
  await ask("POST", "/notes", lines, { "content-type": "application/x-ndjson" });
  await ask("POST", "/notes/body", { number: 1, body: "text" });
  await ask("POST", "/notes/body", { number: 99, body: "text" });
  await ask("POST", "/notes/remove", { number: 5 });
  await ask("GET", "/long?least=4");
  await ask("GET", "/long?least=many");
  await ask("GET", "/long?least=4", undefined, { accept: "text/csv" });
  await ask("GET", "/long?least=4&limit=2");
  await ask("HEAD", "/long?least=4");
  await ask("OPTIONS", "/long");
  await ask("GET", "/long?least=4", undefined, { accept: "application/x-ndjson" });
  await ask("GET", "/long?least=4", undefined, { accept: "image/png" });
  await ask("POST", "/notes", { number: 10, title: "minimal" }, { prefer: "return=minimal" });
  await ask("POST", "/notes", { number: 11, title: "x".repeat(1_200_000), body: "more than a link takes" });
  await ask("POST", "/notes/remove", { number: 11 });
  await ask("POST", "/notes", "number=12", { "content-type": "application/x-www-form-urlencoded" });
  await ask("GET", "/health");
  await ask("GET", "/openapi.json");
  await ask("POST", "/loud", { title: "only computed" });
  await ask("GET", "/hello/Ann%20B");
  await ask("GET", "/nowhere");
  await ask("DELETE", "/notes");

  // Failing cells, and recomputed columns.
  await ask("POST", "/lenient", { number: 20, title: "mute" });
  await run(`errors ${target}`);
  await run(`errors ${target}/notes --column loud --limit 5`);
  await run(`errors ${target}/nothing`);
  await run(`recompute ${target}/notes loud --errors-only -n`);
  await run(`recompute ${target}/notes loud --errors-only -f`);
  await run(`recompute ${target}/notes loud -f`);
  await run(`recompute ${target}/notes --on-error ignore -f`);
  await run(`recompute ${target}/notes loudness -f`);
  await run(`jobs list ${target} --all`);
  await run(`jobs cancel ${target} 000`);
  await ask("POST", "/notes/remove", { number: 20 });

  // Tables and rows as people read them (reading-data.md).
  for (const words of [
    `ls ${target}`,
    `ls ${target} --tree`,
    `describe ${target}/notes`,
    `columns ${target}/notes --computed`,
    `indexes ${target}`,
    `rows ${target}/notes -n 3 --columns number,title,length`,
    `get ${target}/notes 4`,
    `get ${target}/notes 4 5`,
    `get ${target}/notes 404`,
    `get ${target}/notes four`,
    `count ${target}/notes`,
    `count ${target}/nothing`,
    `describe ${target}/nothing`,
    `shell ${target} -c ls`,
    `shell ${target}/nowhere -c ls`,
    `status ${target}`,
    `health ${target}`,
    `rows ${target}/notes --where number>4 --order-by number:desc -n 2 --columns number,title`,
    `rows ${target}/notes --order-by loudest`,
    `count ${target}/notes --where title='bulk'`,
    `count ${target}/notes --where number>`,
    `count ${target}/notes --where numbr>4`,
  ]) {
    await run(words);
  }
  for (const words of writes(target)) await run(words);

  // Changes of single tables (changing-tables.md). The service keeps its own table.
  for (const words of [
    `drop ${target}/nothing -f`,
    `drop-dir ${target}/nothing -f`,
    `rename ${target}/nothing other`,
    `rename ${target}/notes notes`,
    `mv ${target}/nothing ${target}/reports`,
  ]) {
    await run(words);
  }

  // SQL of people (sql.md).
  for (const sql of [
    "select number, title, length from notes where number < 5 order by number",
    "select count(*) from notes; select 1",
    "select titel\nfrom notes",
    "delete from notes",
    "select pg_sleep(1)",
    "select * from appdb.tables",
    "with long as (select * from notes where length > 5) select count(*) from long",
  ]) {
    await run(`query ${target}`, ["query", sql, "--target", target, "--limit", "2"]);
  }

  // A function, a column and a route change: each command reports it, and the previous version keeps serving.
  editFile(project, "app.py", "return text.upper()", 'return text.upper() + "!"');
  editFile(project, "app.py", "    length = title.len()\n", "    length = title.len()\n    twice = title + title\n");
  editFile(
    project,
    "app.py",
    "outputs=[Notes.number, Notes.loud, Notes.length])",
    "outputs=[Notes.loud, Notes.twice])",
  );
  await bring();
  await run(`service update app.py ${target} -f`);
  await run(`schema update app.py ${target}`);
  await ask("POST", "/notes", { number: 8, title: "still" });
  await run(`service diff app.py ${target}`);
  await run(`service update app.py ${target} -f`);
  await ask("POST", "/notes", { number: 9, title: "now" });

  editFile(project, "app.py", "    twice = title + title\n", "");
  editFile(
    project,
    "app.py",
    "outputs=[Notes.loud, Notes.twice])",
    "outputs=[Notes.number, Notes.loud, Notes.length])",
  );
  await bring();
  await run(`schema update app.py ${target}`);
  await run(`schema update app.py ${target} --allow-destructive`);
  await run(`schema update app.py ${target} --allow-destructive -f`);
  await run(`service update app.py ${target} -f`);
  await ask("GET", "/long?least=1");

  await run(`service stop ${target}/notes`);
  await run(`service restart ${target}/notes`);
  await ask("GET", "/hello/back");
  editFile(project, "app.py", 'return text.upper() + "!"', "return text.upper()");
  await run(`service stop ${target}/none`);
  return told;
}

/** Commands that change rows and leave the table as it was (writing-data.md). */
function writes(target: string): readonly string[] {
  return [
    `insert ${target}/notes rows.jsonl`,
    `insert ${target}/notes rows.jsonl`,
    `insert ${target}/notes rows.csv`,
    `insert ${target}/notes rows.csv --on-error ignore`,
    `insert ${target}/notes none.csv`,
    `insert ${target}/nothing rows.jsonl`,
    `rows ${target}/notes --where number>=100 --order-by number`,
    `update ${target}/notes 100 --set title=changed`,
    `update ${target}/notes --where number>100 --set body=`,
    `update ${target}/notes 404 --set title=x`,
    `update ${target}/notes 100 --set loud=x`,
    `update ${target}/notes 100 --set title=mute`,
    `rows ${target}/notes --where number>=100 --order-by number`,
    `delete ${target}/notes 100`,
    `delete ${target}/notes 100 404 -f`,
    `delete ${target}/notes four -f`,
    `delete ${target}/notes --where number>100 -f`,
    `count ${target}/notes --where number>=100`,
  ];
}

const WRITTEN = [
  ["insert TARGET/notes rows.jsonl", { inserted: 2, errors: 0 }],
  ["insert TARGET/notes rows.csv --on-error ignore", { inserted: 2, errors: 1 }],
  ["update TARGET/notes 100 --set title=changed", { updated: 1 }],
  ["update TARGET/notes --where number>100 --set body=", { updated: 3 }],
  ["delete TARGET/notes 100 404 -f", { deleted: 1 }],
  ["delete TARGET/notes --where number>100 -f", { deleted: 3 }],
  ["count TARGET/notes --where number>=100", { count: 0 }],
] as const;

const ROWS = {
  "rows.jsonl": '{"number": 100, "title": "line"}\n{"number": 101, "title": "é€😀", "body": "x"}\n',
  "rows.csv": 'number,title,body\n102,"a ""quoted"" text",\n103,mute,y\n',
};

function openJourney(project: TestProject, target: string, own: Record<string, string>): Journey {
  const told: unknown[] = [];
  let address = "";
  const plain = (value: unknown) => {
    const text = JSON.stringify(value) ?? "null";
    return JSON.parse(text.replaceAll(target, "TARGET").replaceAll(address || target, "ADDRESS"));
  };
  return {
    told,
    run: async (words, args = words.split(" ")) => {
      const ran = await project.cli(...args, "--json");
      const json = ran.stdout === "" ? undefined : JSON.parse(ran.stdout);
      told.push(plain([words, ran.code, json === undefined ? ran.stderr : outline(json)]));
      if (words.startsWith("service list")) address = json.services[0].endpoint;
    },
    ask: async (method, path, body, headers = {}) => {
      const answer = await fetch(address + path, {
        method,
        headers: { "content-type": "application/json", ...own, ...headers },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const type = answer.headers.get("content-type");
      const said = Object.fromEntries(
        SAID.map((name) => [name, answer.headers.get(name)]).filter(([, value]) => value !== null),
      );
      const text = await answer.text();
      const read = text !== "" && type?.includes("json") === true && !type.includes("ndjson") ? JSON.parse(text) : text;
      // the address and the key requirement differ by target
      if (typeof read === "object") for (const name of ["instance", "servers", "security"]) delete read[name];
      delete read.components?.securitySchemes;
      told.push(plain([`${method} ${path}`, answer.status, said, read]));
    },
  };
}

async function openOrganization(project: TestProject, hosted: Hosted): Promise<string> {
  await hosted.setUp("ann@example.com");
  expect(await hosted.browse("POST", "/v1/orgs", { name: "acme" })).toMatchObject({ status: 201 });
  const key: string = (await hosted.browse("POST", "/v1/orgs/acme/keys", { name: "backend" })).json.api_key;
  project.env.SERVICE_API_KEY = key;
  await eventually(
    async () => {
      const { stdout } = await expectExit(project, 0, "db", "status", HOSTED, "--json");
      expect(JSON.parse(stdout)).toMatchObject({ state: "AVAILABLE" });
    },
    { timeout_ms: 60_000 },
  );
  return key;
}
