import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Hosted, isAvailable, makeOrganization, signInCommand, startHosted } from "./support/hosted.ts";
import { expectExit, expectProblem, listServices, makeProject } from "./support/served.ts";

const STORE = "mediafs://acme:main/home";
const APP = `import tempfile
from pathlib import Path

import appdb as db
from appdb.serving import Router

Base = db.model_base()


@db.udf
def shouted(text: db.Document) -> db.Document:
    folder = tempfile.mkdtemp()
    path = Path(folder) / "shouted.txt"
    path.write_text(Path(text).read_text("utf-8").upper(), "utf-8")
    return str(path)


class Note(Base, name="notes"):
    title = db.Column(type=db.String, primary_key=True)
    text: db.Document
    loud = db.Column(value=shouted(text), destination="${STORE}/loud")


notes = Router(name="notes")
notes.add_insert_route(Note, path="/notes", uploadfile_inputs=[Note.text])
`;
const TIMEOUT = 180_000;

let project: TestProject;
let hosted: Hosted;

beforeAll(async () => {
  project = await makeProject(APP);
  hosted = await startHosted(project);
  await hosted.setUp("ann@example.com");
}, TIMEOUT);
afterAll(async () => {
  await project[Symbol.asyncDispose]();
}, TIMEOUT);

const json = async (...words: string[]) => JSON.parse((await expectExit(project, 0, ...words, "--json")).stdout);
const namesIn = async (uri: string): Promise<string[]> =>
  (await json("media", "ls", "-r", uri)).map(({ name }: { name: string }) => name);

/** Sends a file, or the address of one. */
async function insert(title: string, text: string | Blob) {
  const [service] = await listServices(project);
  const form = new FormData();
  form.set("title", title);
  form.set("text", text);
  const answer = await fetch(`${service?.endpoint}/notes`, { method: "POST", body: form });
  return { status: answer.status, row: (await answer.json()) as Record<string, string> };
}

const contentAt = async (address: string | undefined): Promise<string> => await (await fetch(address ?? "")).text();

test("without a sign-in the update names the setting and the next step, and changes nothing", {
  timeout: TIMEOUT,
}, async () => {
  const column = await expectProblem(project, 1, "schema", "update", "app.py", "main");
  expect(column).toMatchObject({
    code: "not_signed_in",
    detail: expect.stringContaining(`destination= of notes.loud names ${STORE}, which cannot be used`),
    hint: expect.stringContaining("SERVICE_API_KEY"),
  });
  project.env["SERVICE_INPUT_MEDIA_DEST"] = STORE;
  const variable = await expectProblem(project, 1, "service", "update", "app.py", "main", "-f");
  expect(variable.detail).toContain(`SERVICE_INPUT_MEDIA_DEST names ${STORE}`);
  await signInCommand(project, hosted);
  const foreign = await expectProblem(project, 1, "schema", "update", "app.py", "main");
  expect(foreign).toMatchObject({ code: "organization_not_found", hint: expect.stringContaining("cli org list") });
  expect(await listServices(project)).toEqual([]);
});

test("given and computed files of a local database are in the hosted store, below its own folder", {
  timeout: TIMEOUT,
}, async () => {
  await makeOrganization(project, "acme");
  await expectExit(project, 0, "schema", "update", "app.py", "main");
  await expectExit(project, 0, "service", "update", "app.py", "main", "-f");
  for (const title of ["a", "b"]) {
    const { row, status } = await insert(title, new Blob(["good morning"]));
    expect([status, await contentAt(row["text"]), await contentAt(row["loud"])]).toEqual([
      200,
      "good morning",
      "GOOD MORNING",
    ]);
    const part = await fetch(row["loud"] ?? "", { headers: { range: "bytes=5-7" } });
    expect([part.status, await part.text()]).toEqual([206, "MOR"]);
  }
  const names = await namesIn(STORE);
  expect(names).toEqual([
    expect.stringMatching(/^local\/main-[0-9a-f]{12}\/[0-9a-f]{2}\/[0-9a-f]{64}\.txt$/),
    expect.stringMatching(/^loud\/local\/main-[0-9a-f]{12}\/[0-9a-f]{2}\/[0-9a-f]{64}\.txt$/),
  ]);
});

test("an insert starts the hosted database if it sleeps, and not one that a person stopped", {
  timeout: TIMEOUT,
}, async () => {
  await expectExit(project, 0, "db", "stop", "cloud://acme:main");
  const stopped = await insert("stopped", new Blob(["good night"]));
  expect([stopped.status, stopped.row]).toEqual([
    503,
    expect.objectContaining({ code: "media_unavailable", detail: expect.stringContaining("STOPPED") }),
  ]);
  await expectExit(project, 0, "db", "start", "cloud://acme:main");
  const toml = join(project.folder, "service.toml");
  appendFileSync(toml, '\n[[service.database]]\nname = "cloud://acme:main"\nsleep_after = "15m"\n');
  await expectExit(project, 0, "db", "update", "cloud://acme:main", "-f");
  await expectExit(project, 0, "db", "stop", "cloud://acme:main");
  const { row, status } = await insert("asleep", new Blob(["good night"]));
  expect([status, row]).toEqual([200, expect.objectContaining({ title: "asleep" })]);
  expect(await contentAt(row["loud"])).toBe("GOOD NIGHT");
  await isAvailable(project, "cloud://acme:main");
});

test("a row of a local database names a file of the hosted store that it uses, and of no other", {
  timeout: TIMEOUT,
}, async () => {
  await project.type(`printf 'by name' > note.txt && cli media cp note.txt '${STORE}/Notizen/größe 1.txt'`);
  const { row, status } = await insert("named", `${STORE}/Notizen/größe 1.txt`);
  expect([status, await contentAt(row["text"]), await contentAt(row["loud"])]).toEqual([200, "by name", "BY NAME"]);
  const other = await insert("other", "mediafs://acme:other/home/a.txt");
  expect([other.status, other.row]).toEqual([
    422,
    expect.objectContaining({
      code: "media_source_not_allowed",
      hint: expect.stringContaining("cli media cp 'mediafs://acme:other/home/a.txt'"),
    }),
  ]);
  const missing = await insert("missing", `${STORE}/none.txt`);
  expect([missing.status, missing.row["code"]]).toEqual([404, "media_not_found"]);
});

test("a hosted target refuses the store of another database before it changes anything", {
  timeout: TIMEOUT,
}, async () => {
  const folder = await expectProblem(project, 1, "schema", "diff", "app.py", "cloud://acme:main");
  expect(folder).toMatchObject({
    code: "app_invalid",
    detail: expect.stringMatching(
      /^app\.py:\d+: destination= of column notes\.loud .* a folder of the database's media/,
    ),
  });
});

test("after the sign-in has ended or the key was deleted, an insert says so and stores nothing", {
  timeout: TIMEOUT,
}, async () => {
  const { api_key: key } = await json(
    "key",
    "create",
    "caller",
    "--org",
    "acme",
    "--grant",
    "access:cloud://acme:main",
  );
  await expectExit(project, 0, "logout");
  const ended = await insert("ended", new Blob(["after the end"]));
  expect([ended.status, ended.row]).toEqual([
    502,
    expect.objectContaining({ code: "media_denied", hint: expect.stringMatching(/cli login.*SERVICE_API_KEY/) }),
  ]);

  project.env["SERVICE_API_KEY"] = key;
  await expectExit(project, 0, "service", "update", "app.py", "main", "-f");
  expect((await insert("by key", new Blob(["with a key"]))).status).toBe(200);
  delete project.env["SERVICE_API_KEY"];
  await signInCommand(project, hosted);
  await expectExit(project, 0, "key", "delete", "caller", "--org", "acme");
  await eventually(
    async () => {
      const gone = await insert("gone", new Blob(["without a key"]));
      expect([gone.status, gone.row["code"]]).toEqual([502, "media_denied"]);
    },
    { timeout_ms: 60_000 },
  );
  const names = await namesIn(STORE);
  expect(names).toHaveLength(8);
});
