import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { localMediaPlace } from "@appdb/contract/media-place";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openMedia } from "./open-media.ts";

const APP = `
import appdb as db
from appdb.functions import document
from appdb.serving import Router

Base = db.model_base()


class Paper(Base, name="papers"):
    key = db.Column(type=db.String, primary_key=True)
    file: db.Document
    content = file.extract_text()
    facts = document.get_metadata(file)


class Loose(Base, name="loose", media_validation="on_read"):
    key = db.Column(type=db.String, primary_key=True)
    file: db.Document
    content = file.extract_text()


r = Router(name="r")
r.add_insert_route(Paper, path="/papers", outputs=[Paper.content, Paper.facts])
r.add_insert_route(Loose, path="/loose", outputs=[Loose.content], on_error="ignore")
`;

/** Writes a.docx, bomb.docx and other.zip into a folder. */
const WRITE = `
import sys, zipfile
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
def write(name, text):
    with zipfile.ZipFile(sys.argv[1] + "/" + name, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", f'<Types><Override PartName="/d.xml" ContentType="{TYPE}"/></Types>')
        file.writestr("_rels/.rels", f'<Relationships><Relationship Type="{RELATION}" Target="d.xml"/></Relationships>')
        file.writestr("d.xml", f"<document><p><r><t>{text}</t></r></p></document>")
write("a.docx", "Hello")
write("bomb.docx", "a" * 30_000_000)
with zipfile.ZipFile(sys.argv[1] + "/other.zip", "w") as file:
    file.writestr("a.txt", "a")
`;

let folder: string;
let web: Server;
let tested: TestApplication;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "appdb-documents-"));
  execFileSync(testRuntime(folder).python, ["-c", WRITE, folder]);
  writeFileSync(join(folder, "cut.docx"), readFileSync(join(folder, "a.docx")).subarray(0, -30));
  writeFileSync(join(folder, "a.md"), "# Title\n\ntext");
  writeFileSync(join(folder, "a.html"), "<html><title>T</title><script>x</script><p>One<p>Two");
  writeFileSync(join(folder, "old.doc"), Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.alloc(600)]));
  web = createServer((request, response) => {
    response.end(readFileSync(join(folder, basename(request.url ?? ""))));
  });
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  tested = await openTestApplication(APP, {}, (media, sql) =>
    openMedia({
      place: localMediaPlace(media, {}),
      env: {},
      hosted: undefined,
      destinations: [],
      sql,
      log: createSilentLog(),
    }),
  );
});

afterAll(async () => {
  await tested?.[Symbol.asyncDispose]();
  web?.close();
  rmSync(folder, { recursive: true, force: true });
});

function insert(path: string, file: string) {
  return tested.post(path, { key: file, file: `http://127.0.0.1:${(web.address() as AddressInfo).port}/${file}` });
}

test.each([
  ["a.docx", "Hello", { format: "docx", title: null }],
  ["a.md", "# Title\n\ntext", { format: "markdown", title: "Title" }],
  ["a.html", "One\n\nTwo", { format: "html", title: "T" }],
])("%s has its text and facts", async (file, content, facts) => {
  const { status, json } = await insert("/papers", file);
  expect([status, json.content]).toEqual([200, content]);
  expect(json.facts).toMatchObject(facts);
});

test.each([
  ["cut.docx", "its archive has no end"],
  ["bomb.docx", "the part d.xml unpacks to 30,0"],
  ["other.zip", "an archive, and not a document of a known format"],
])("%s is refused when it is stored", async (file, reason) => {
  const { status, json } = await insert("/papers", file);
  expect([status, json.code]).toEqual([422, "media_invalid"]);
  expect(json.detail).toContain(reason);
});

test("a document that no function reads fails the cell that reads it", async () => {
  const { status, json } = await insert("/papers", "old.doc");
  expect([status, json.code]).toEqual([400, "function_failed"]);
  expect(json.detail).toContain("save it as DOCX");
});

test("a column that is checked on read keeps the row of a broken document", async () => {
  const { status, json, headers } = await insert("/loose", "cut.docx");
  expect([status, json.content]).toEqual([200, null]);
  expect(headers["x-cell-errors"]).toBe('content;type="ValueError"');
});
