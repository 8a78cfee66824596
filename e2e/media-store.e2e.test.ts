import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, type TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Hosted, send, startWithAcme } from "./support/hosted.ts";
import { readTypedLines } from "./support/pages/typed-lines.ts";
import { expectExit, expectProblem, makeProject, writeFile } from "./support/served.ts";

/** Its commands run here. */
const PAGE = "docs/media-store.md";
const HOME = "mediafs://acme:main/home";
const APP = `import appdb as db
from appdb.functions import uuid7

Base = db.model_base()


class Photo(Base, name="photos"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    picture: db.Image
`;
/** A hosted image has no Pillow. */
const NOTES = `import appdb as db

Base = db.model_base()


class Note(Base, name="notes"):
    title = db.Column(type=db.String, primary_key=True)
    text: db.Document
`;
/** Copies a table by its exports, then prints what the copies hold. */
const COPY = `import sys

import appdb as db
from appdb.io import export_csv, export_json

columns = {"title": db.String, "text": db.Document}
target = sys.argv[1]
letters = db.create_table(f"{target}/letters", columns, primary_key="title")
copies = db.create_table(f"{target}/copies", columns, primary_key="title")
letters.insert(title="First", text="letter.txt")
export_json(letters, "letters.jsonl")
export_csv(letters, "letters.csv")
for file in ("letters.jsonl", "letters.csv"):
    copies.insert(file)
    print(open(copies.collect()[0]["text"]).read())
    copies.delete()
copies.insert(letters.select(letters.title, text=letters.text.fileurl))
print(copies.select(copies.text.fileurl).collect()[0]["text"])
copies.delete()
`;
const TIMEOUT = 180_000;
/** The smallest image: one pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

let project: TestProject;
let hosted: Hosted;

beforeAll(async () => {
  project = await makeProject(APP);
  mkdirSync(join(project.folder, "pictures"));
  writeFileSync(join(project.folder, "holiday.jpg"), "holiday");
  for (const name of ["sea", "hill"]) {
    writeFileSync(join(project.folder, "pictures", `${name}.jpg`), Buffer.concat([PNG, Buffer.from(name)]));
  }
  hosted = await startWithAcme(project);
}, TIMEOUT);
afterAll(async () => {
  await project[Symbol.asyncDispose]();
}, TIMEOUT);

const json = async (...words: string[]) => JSON.parse((await expectExit(project, 0, ...words, "--json")).stdout);

test("the commands of the page copy, list, measure and remove files", { timeout: TIMEOUT }, async () => {
  const lines = readTypedLines(PAGE);
  expect(lines.length).toBeGreaterThan(8);
  for (const { place, text } of lines) {
    const done = await project.type(text);
    expect(done.code, `${place} ${text}\n${done.stdout}${done.stderr}`).toBe(0);
  }
  expect(readFileSync(join(project.folder, "copy.jpg"), "utf8")).toBe("holiday");
  expect(readdirSync(join(project.folder, "copies")).sort()).toEqual(["hill.jpg", "sea.jpg"]);
  const names = async (uri: string) => (await json("media", "ls", "-r", uri)).map(({ name }: { name: string }) => name);
  expect(await names(HOME)).toEqual(["best.jpg", "pictures/hill.jpg", "pictures/sea.jpg"]);
  expect(await names("mediafs://main/home")).toEqual(["pictures/hill.jpg", "pictures/sea.jpg"]);
  expect(await json("media", "cp", "-r", "pictures", `${HOME}/pictures`)).toEqual({
    copied: 0,
    skipped: 2,
    bytes: 0,
    stored_bytes: 0,
  });
  expect(await json("media", "du", HOME)).toMatchObject({
    files: 3,
    stored: { objects: 3 },
    room_bytes: expect.any(Number),
  });
});

test("the page's Python uploads files by a key with access to the database, and its row names a file of the store", {
  timeout: TIMEOUT,
}, async () => {
  const page = readFileSync(join(ROOT, PAGE), "utf8");
  const row = /<!-- row -->\n```json\n(.*)\n```/.exec(page)?.[1] ?? "";
  const python = /<!-- python -->\n```python\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  const { api_key: key } = await json(
    "key",
    "create",
    "caller",
    "--org",
    "acme",
    "--grant",
    "access:cloud://acme:main",
  );
  writeFileSync(join(project.folder, "upload.py"), python);
  const ran = await project.type(
    `SERVICE_API_KEY=${key} SERVICE_API_URL=${hosted.url} PYTHONPATH='${join(ROOT, "python")}' '${join(ROOT, ".tools", "bin", "python")}' upload.py`,
  );
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stdout).toMatch(/Progress\(files_done=2, files=2/);
  expect(ran.stdout.trim().split("\n").at(-1)).toMatch(/^mediafs:\/\/acme:main\/home\/[0-9a-f]{2}\/[0-9a-f]{64}\.png$/);
  expect(JSON.parse(row).picture).toBe(`${HOME}/pictures/sea.jpg`);
});

test("a local file is uploaded by its path, and its address becomes a file of a row of a hosted table", {
  timeout: TIMEOUT,
}, async () => {
  writeFile(project, "notes.py", NOTES);
  writeFile(project, "letter.txt", "good morning");
  writeFile(
    project,
    "give.py",
    'from appdb.uploads import upload\nprint(upload("cloud://acme:main", ["letter.txt"])[0])\n',
  );
  await expectExit(project, 0, "db", "update", "cloud://acme:main", "-f");
  await expectExit(project, 0, "schema", "update", "notes.py", "cloud://acme:main");
  const { api_key: key } = await json("key", "create", "writer", "--org", "acme");
  const python = join(ROOT, ".tools", "bin", "python");
  const given = await project.type(
    `SERVICE_API_KEY=${key} SERVICE_API_URL=${hosted.url} PYTHONPATH='${join(ROOT, "python")}' '${python}' give.py`,
  );
  const rows = `${hosted.url}/v1/orgs/acme/databases/main/tables/notes/rows`;
  const row = { title: "First", text: given.stdout.trim() };
  expect(await send(rows, key, "POST", row), given.stderr).toMatchObject({ status: 200 });
  const { json: stored } = await send(rows, key, "GET");
  expect(stored.rows).toEqual([expect.objectContaining({ title: "First" })]);
  expect(await send(hosted.url + stored.rows[0].text.address, key, "GET")).toMatchObject({ text: "good morning" });
});

test("exported files are inserted again by the command and the library, in the same database only", {
  timeout: TIMEOUT,
}, async () => {
  writeFile(project, "letter.txt", "good evening");
  writeFile(project, "copies.py", COPY);
  const places = [
    ["main", "mediafs://main/home", "cloud://acme:main"],
    ["cloud://acme:main", HOME, "main"],
  ] as const;
  for (const [target, store] of places) {
    const python = join(ROOT, ".tools", "bin", "python");
    const ran = await project.type(`PYTHONPATH='${join(ROOT, "python")}' '${python}' copies.py ${target}`);
    expect(ran.stdout.split("\n"), ran.stderr).toEqual(
      expect.arrayContaining(["good evening", expect.stringMatching(`${store}/[0-9a-f]{2}/[0-9a-f]{64}\\.txt$`)]),
    );
    for (const ending of ["jsonl", "csv", "parquet"]) {
      await expectExit(project, 0, "export", `${target}/letters`, "-o", `letters.${ending}`);
      await expectExit(project, 0, "insert", `${target}/copies`, `letters.${ending}`);
      expect((await json("get", `${target}/copies`, "First")).text).toMatchObject({ type: "text/plain", bytes: 12 });
      await expectExit(project, 0, "delete", `${target}/copies`, "First", "-f");
    }
  }
  for (const [target, store, other] of places) {
    await expectExit(project, 0, "export", `${target}/letters`, "-o", "foreign.jsonl");
    const refused = await expectProblem(project, 1, "insert", `${other}/copies`, "foreign.jsonl");
    expect(refused.detail).toContain(store);
    expect((await json("count", `${other}/copies`)).count).toBe(0);
    // the next step works to the letter
    const [, copy = "", path = ""] = /\((cli media cp .*)\).*: (\S+)$/.exec(refused.hint ?? "") ?? [];
    expect((await project.type(copy)).code, refused.hint ?? "").toBe(0);
    writeFile(project, "foreign.jsonl", JSON.stringify({ title: "Copied", text: path }));
    await expectExit(project, 0, "insert", `${other}/copies`, "foreign.jsonl");
    expect((await json("get", `${other}/copies`, "Copied")).text).toMatchObject({ type: "text/plain", bytes: 12 });
  }
});

test("a key of a service, another organization and no sign-in are refused with a next step", {
  timeout: TIMEOUT,
}, async () => {
  const { api_key: key } = await json(
    "key",
    "create",
    "narrow",
    "--org",
    "acme",
    "--grant",
    "access:cloud://acme:main/services",
  );
  const refused = await project.type(`SERVICE_API_KEY=${key} cli media ls ${HOME}`);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("can do only what its grants allow")]);
  const foreign = await expectProblem(project, 1, "media", "ls", "mediafs://nobodys:main/home");
  expect(foreign).toMatchObject({ code: "organization_not_found", hint: expect.stringContaining("cli org list") });
  expect((await expectProblem(project, 1, "media", "ls", "mediafs://none/home")).code).toBe("table_not_found");
  await expectExit(project, 0, "logout");
  expect((await expectProblem(project, 1, "media", "ls", HOME)).code).toBe("not_signed_in");
});
