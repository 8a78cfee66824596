import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT, type TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { isAvailable, send, startWithAcme } from "./support/hosted.ts";
import { expectExit, expectProblem, type Listed, makeProject, writeFile } from "./support/served.ts";

const APP = `import appdb as db
from appdb.functions.string import string_splitter
from appdb.serving import Router

Base = db.model_base()


@db.udf
def shout(text: str) -> str:
    return text.upper() + "!"


@db.udf
def length_of(paper: db.Document) -> int:
    return len(open(paper).read())


@db.udf
def embed(text: str) -> db.Array[(3,), db.Float]:
    return [float(len(text)), 1.0, 0.0]


class Notes(Base, name="notes"):
    number = db.Column(type=db.Int, primary_key=True)
    title: db.String
    paper: db.Document | None
    loud = shout(title)
    length = length_of(paper)
    __indexes__ = [db.BtreeIndex(title), db.EmbeddingIndex(title, embedding=embed)]


class Later(Base, name="later", base=Notes.where(Notes.number > 1)):
    quiet = Notes.title.lower()


class Parts(Base, name="parts", base=Notes, iterator=string_splitter(Notes.title, separators="sentence")):
    size = text.len()


@db.query
def near(q: str):
    return Notes.order_by(Notes.title.similarity(string=q), asc=False).select(Notes.number).limit(1)


notes = Router(name="notes")
notes.add_insert_route(Notes, path="/notes", outputs=[Notes.loud, Notes.length])
notes.add_query_route(path="/near", query=near, method="get")
`;
/** Moves a folder as programs do, and shows what its tables have. */
const MOVE = `import sys

import appdb as db

target = sys.argv[1]
held = db.get_table(f"{target}/b/c/notes")
db.move(f"{target}/b/c", f"{target}/x")
try:
    held.count()
except db.NotFoundError as error:
    print(error.code)
db.move(f"{target}/b/c", f"{target}/x", if_not_exists="ignore")
db.move(f"{target}/x", f"{target}/taken", if_exists="ignore")
for asked in (f"{target}/x/y", f"{target}/taken"):
    try:
        db.move(f"{target}/x", asked)
    except db.Error as error:
        print(error.code)
notes = db.get_table(f"{target}/x/notes")
notes.insert(number=4, title="Four. Words.")
print(notes.order_by(notes.number).collect()["loud"])
print(db.list_dirs(target))
db.move(f"{target}/x", f"{target}/b/c")
`;

/** Everything that a folder has, before and after it moves; \`key\` opens hosted services. */
async function moveFolder(project: TestProject, target: string, key: string): Promise<void> {
  const cli = async (...words: string[]) => (await expectExit(project, 0, ...words)).stdout;
  const endpoint = async (folder: string): Promise<string> => {
    const { services } = JSON.parse(await cli("service", "list", `${target}/${folder}`, "--json"));
    return services.find(({ state }: Listed) => state === "AVAILABLE")?.endpoint;
  };
  const read = async (path: string) =>
    JSON.parse(await cli("rows", `${target}/${path}`, "--order-by", "number", "--json")).rows;
  for (const folder of ["a", "a/deep"]) await cli("schema", "update", "app.py", `${target}/${folder}`);
  await cli("service", "update", "app.py", `${target}/a`, "-f");
  writeFile(
    project,
    "rows.jsonl",
    '{"number": 1, "title": "One.", "paper": "paper.md"}\n{"number": 2, "title": "Two."}\n',
  );
  await cli("insert", `${target}/a/notes`, "rows.jsonl");
  await cli("insert", `${target}/a/deep/notes`, "rows.jsonl");

  const running = await endpoint("a");
  const near = async (url: string, text: string) =>
    (await send(`${url}/near?q=${encodeURIComponent(text)}`, key, "GET")).json;
  expect(await near(running, "Two.")).toMatchObject({ rows: [{ number: expect.any(Number) }] });

  const shown = await expectExit(project, 2, "mv", `${target}/a`, `${target}/b`, "-n");
  expect(shown.stdout).toContain(`would move  ${target}/a to ${target}/b/a\n`);
  expect(shown.stdout).toContain(`  ${target}/b/a/deep/notes  (the table will be moved from 'a/deep/notes')`);
  expect(shown.stderr).toContain(`The running service ${target}/a/notes uses ${target}/a/notes.`);
  expect(await cli("mv", `${target}/a`, `${target}/b`)).toBe(`moved  ${target}/a to ${target}/b/a\n`);
  const renamed = JSON.parse(await cli("rename", `${target}/b/a`, "c", "--json"));
  expect(renamed).toMatchObject({ from: `${target}/b/a`, to: `${target}/b/c`, status: "applied" });

  // Values, files and code of the previous place are in the new one.
  expect(await read("b/c/notes")).toMatchObject([
    { number: 1, loud: "ONE.!", length: 12 },
    { number: 2, length: null },
  ]);
  // The service that runs since before the move uses its tables where they are.
  expect(await near(running, "Two.")).toMatchObject({ rows: [{ number: expect.any(Number) }] });
  expect((await send(`${running}/notes`, key, "POST", { number: 2, title: "Two." })).status).toBe(409);
  writeFile(project, "more.jsonl", '{"number": 3, "title": "Three. More.", "paper": "paper.md"}\n');
  await cli("insert", `${target}/b/c/notes`, "more.jsonl");
  await cli("insert", `${target}/b/c/deep/notes`, "more.jsonl");
  for (const folder of ["b/c", "b/c/deep"]) {
    expect((await read(`${folder}/notes`)).at(-1)).toMatchObject({ loud: "THREE. MORE.!", length: 12 });
    expect((await cli("count", `${target}/${folder}/later`)).trim()).toBe("2");
    expect((await cli("count", `${target}/${folder}/parts`)).trim()).toBe("4");
    await cli("recompute", `${target}/${folder}/notes`, "loud", "-f");
  }
  await cli("delete", `${target}/b/c/notes`, "1", "-f");
  expect((await cli("count", `${target}/b/c/parts`)).trim()).toBe("3");
  const asked = await cli("query", `select count(*) as n from "b/c/later"`, "--target", target, "--json");
  expect(JSON.parse(asked).rows).toEqual([[2]]);
  expect(await cli("history", `${target}/b/c/notes`)).toMatch(
    /move table from b\/a\/notes[\s\S]*move table from a\/notes[\s\S]*create table/,
  );

  // The file declares the same tables for the new path, and its service starts there.
  expect((await expectExit(project, 0, "schema", "diff", "app.py", `${target}/b/c`)).code).toBe(0);
  await cli("service", "update", "app.py", `${target}/b/c`, "-f");
  const url = await endpoint("b/c");
  const answer = await send(`${url}/notes`, key, "POST", { number: 9, title: "Nine." });
  expect([answer.status, answer.json]).toMatchObject([200, { loud: "NINE.!" }]);
  expect(await near(url, "Three. More.")).toMatchObject({ rows: [{ number: 3 }] });

  for (const [line, code] of [
    [["mv", `${target}/b`, `${target}/b/c`], "invalid_target"],
    [["rename", `${target}/b/c`, "deep/x"], "invalid_name"],
    [["mv", `${target}/b/c/deep`, `${target}/b/c/deep`], "invalid_target"],
    [["mv", `${target}/b`, "other"], "invalid_target"],
    [["mv", target, `${target}/b`], "invalid_target"],
  ] as const) {
    expect((await expectProblem(project, 1, ...line)).code, line.join(" ")).toBe(code);
  }
  writeFile(project, "move.py", MOVE);
  const python = join(ROOT, ".tools", "bin", "python");
  const env = { ...process.env, ...project.env, PYTHONPATH: join(ROOT, "python") };
  await promisify(execFile)(
    python,
    ["-c", `import appdb as db; db.create_dir("${target}/taken", if_exists="ignore")`],
    {
      cwd: project.folder,
      env,
    },
  );
  const { stdout } = await promisify(execFile)(python, ["move.py", target], { cwd: project.folder, env });
  expect(stdout).toBe(
    [
      "table_not_found",
      "invalid_target",
      "folder_exists",
      "['TWO.!', 'THREE. MORE.!', 'FOUR. WORDS.!', 'NINE.!']",
      `['${target}/b', '${target}/taken', '${target}/x', '${target}/x/deep']`,
      "",
    ].join("\n"),
  );
}

test("a folder moves with all that is in it, on local and hosted targets", async () => {
  await using project = await makeProject(APP);
  writeFile(project, "paper.md", "# Some paper");
  await moveFolder(project, "main", "");
  await startWithAcme(project);
  const target = "cloud://acme:main";
  const key = JSON.parse((await expectExit(project, 0, "key", "create", "client", "--json")).stdout).api_key;
  await expectExit(project, 0, "db", "update", target, "-f");
  await isAvailable(project, target);
  await moveFolder(project, target, key);
}, 400_000);
