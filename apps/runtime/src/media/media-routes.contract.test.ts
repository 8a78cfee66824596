import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { manifestSchema } from "@appdb/contract/manifest";
import { localMediaPlace } from "@appdb/contract/media-place";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { ensureCatalog } from "@appdb/engine/catalog/ensure-catalog";
import { loadCatalog } from "@appdb/engine/catalog/load-catalog";
import { applySchema } from "@appdb/engine/schema/apply-schema";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { readCatalogMigrations } from "@appdb/postgres/migrations/read-migrations";
import { findCheckout } from "@appdb/testkit/postgres-binaries";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase } from "@appdb/testkit/test-database";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveEndpoints } from "../http/serve-endpoints.ts";
import { withService } from "../roles/with-service.ts";

const APP = `
import tempfile

import appdb as db
from PIL import Image
from appdb.functions import uuid7
from appdb.serving import Router

Base = db.model_base()


@db.udf
def small(picture: Image.Image) -> Image.Image:
    copy = picture.copy()
    copy.thumbnail((64, 64))
    return copy


@db.udf
def describe(picture: Image.Image) -> str:
    return f"{picture.width}x{picture.height} {picture.mode}"


@db.udf
def first_line(text: db.Document) -> db.Document:
    with open(str(text)) as file, tempfile.NamedTemporaryFile("w", suffix=".md", delete=False) as made:
        made.write(file.readline())
    return made.name


@db.udf
def escape(title: str) -> Image.Image:
    return title


class Photo(Base, name="photos"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String | None
    n: db.Int | None
    picture: db.Image
    second: db.Image | None
    thumb = small(picture)
    caption = describe(thumb)
    width = picture.width
    tone = picture.mode
    tiny = picture.resize((8, 4)).height


class Loose(Base, name="loose", media_validation="on_read"):
    key = db.Column(type=db.String, primary_key=True)
    picture: db.Image
    caption = describe(picture)
    width = picture.width


class Files(Base, name="files"):
    key = db.Column(type=db.String, primary_key=True)
    text: db.Document
    head = first_line(text)


class Strange(Base, name="strange"):
    title = db.Column(type=db.String, primary_key=True)
    made = escape(title)


class Lost(Base, name="lost"):
    key = db.Column(type=db.String, primary_key=True)
    picture: db.Image[(None, 240)]
    thumb = db.Column(value=small(picture), destination="file:///no/such/store")


class Same(Base, name="same"):
    key = db.Column(type=db.String, primary_key=True)
    picture: db.Image
    text: db.Document | None
    shown = picture.fileurl
    read = text.fileurl
    caption = describe(picture)


@db.query
def thumb_of(id: db.UUID):
    return Photo.where(Photo.id == id).select(Photo.thumb)


@db.query
def titles():
    return Photo.order_by(Photo.title).select(Photo.title, Photo.picture, Photo.thumb, high=Photo.thumb.height)


photos = Router()
uploads = [Photo.picture, Photo.second]
photos.add_insert_route(Photo, path="/photos", uploadfile_inputs=uploads)
photos.add_compute_route(Photo, path="/try", inputs=[], uploadfile_inputs=[Photo.picture], outputs=[Photo.caption])
photos.add_compute_route(
    Photo, path="/shrink", inputs=[], uploadfile_inputs=[Photo.picture], outputs=[Photo.thumb], return_fileresponse=True
)
photos.add_query_route(path="/photos/{id}/thumb", query=thumb_of, method="get", return_fileresponse=True)
photos.add_query_route(path="/titles", query=titles, method="get")


@photos.get("/handled")
def handled():
    return titles()


@db.uda
class Wide(db.Aggregator):
    def __init__(self):
        self.width = 0

    def update(self, picture: Image.Image) -> None:
        self.width += picture.width

    def value(self) -> int:
        return self.width


@db.query
def widths():
    return Photo.select(total=Wide(Photo.thumb))


photos.add_query_route(path="/widths", query=widths, method="get")
photos.add_insert_route(Loose, path="/loose", uploadfile_inputs=[Loose.picture], on_error="ignore")
photos.add_insert_route(Files, path="/files", uploadfile_inputs=[Files.text])
photos.add_insert_route(Strange, path="/strange")
photos.add_insert_route(Same, path="/same", uploadfile_inputs=[Same.picture, Same.text])


@photos.insert_route(Same, path="/same/told", uploadfile_inputs=[Same.picture, Same.text])
def told(*, key, shown, caption, picture):
    return {"key": key, "shown": str(shown.size), "same": shown.size == picture.size, "caption": caption}


photos.add_insert_route(Lost, path="/lost", uploadfile_inputs=[Lost.picture])
`;

const PICTURES = `
import sys
from PIL import Image
folder = sys.argv[1]
image = Image.linear_gradient("L").resize((320, 240)).convert("RGB")
image.save(folder + "/whole.png")
image.save(folder + "/other.jpg", quality=60)
turned = Image.Exif()
turned[0x0112] = 6
image.save(folder + "/turned.jpg", exif=turned)
with open(folder + "/other.jpg", "rb") as file:
    content = file.read()
with open(folder + "/cut.jpg", "wb") as file:
    file.write(content[: len(content) // 2])
`;

const checkout = findCheckout(import.meta.dirname);
const python = join(checkout, ".tools", "bin", "python");
const folder = mkdtempSync(join(tmpdir(), "appdb-media-"));
const mediaFolder = join(folder, "media");
let base = "";
let dsn = "";
let web: Server;
let end = async (): Promise<void> => undefined;

beforeAll(async () => {
  writeFileSync(join(folder, "app.py"), APP);
  execFileSync(python, ["-c", PICTURES, folder]);
  writeFileSync(join(folder, "page.png"), "<!doctype html><script>alert(1)</script>");
  writeFileSync(join(folder, "empty.png"), "");
  writeFileSync(join(folder, "a.md"), "# Title\n\ntext");
  const database = await createTestDatabase();
  dsn = database.dsn;
  const env = { PATH: process.env.PATH ?? "", PYTHONPATH: join(checkout, "python"), PYTHONDONTWRITEBYTECODE: "1" };
  const { stdout } = await promisify(execFile)(python, ["-m", "appdb.manifest", "app.py"], { cwd: folder, env });
  const manifest = manifestSchema.parse(JSON.parse(stdout));
  const log = createSilentLog();
  await using sql = createPgPool({ dsn, max: 1, application_name: "media test" });
  await ensureCatalog(sql, readCatalogMigrations());
  const { version } = await loadCatalog(sql);
  await applySchema(
    { sql, clock: { now: Date.now }, log },
    { manifest, target: "main", catalog_version: version, allow_destructive: false, runtime_id: "r1" },
  );
  web = createServer((request, response) => {
    const name = (request.url ?? "").slice(1);
    if (!existsSync(join(folder, name))) response.writeHead(404).end();
    else response.end(readFileSync(join(folder, name)));
  });
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  const spec = {
    dsn,
    target: "main",
    manifest,
    services: ["photos"],
    media: localMediaPlace(mediaFolder, {}),
    runtime: {
      python,
      python_source: "--python",
      project_root: folder,
      library_paths: [join(checkout, "python")],
      env: { PATH: process.env.PATH ?? "", PYTHONDONTWRITEBYTECODE: "1" },
    },
    limits: { ...DEFAULT_LIMITS, upload_bytes: 1_000_000 },
  };
  let stop = (): void => undefined;
  const serving = new Promise<void>((resolve) => {
    stop = resolve;
  });
  let ended: Promise<void> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    ended = withService(spec, log, async ({ endpoints }) => {
      await using server = await serveEndpoints(endpoints, { host: "127.0.0.1", port: 0, log, body_bytes: 1_000_000 });
      base = `http://127.0.0.1:${server.port}`;
      resolve();
      await serving;
    });
    ended.catch(reject);
  });
  end = async () => {
    stop();
    await ended;
    await database.drop();
  };
}, 60_000);

afterAll(async () => {
  await end();
  web.closeAllConnections();
  await new Promise((resolve) => web.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

type Json = Record<string, unknown>;

function formOf(files: Record<string, string>, fields: Record<string, string> = {}): FormData {
  const form = new FormData();
  for (const [name, text] of Object.entries(fields)) form.append(name, text);
  for (const [name, file] of Object.entries(files)) {
    form.append(name, new Blob([readFileSync(join(folder, file))], { type: "application/x-lie" }), file);
  }
  return form;
}

async function send(path: string, body: FormData | Json, headers: Record<string, string> = {}) {
  const answer = await fetch(base + path, {
    method: "POST",
    headers: body instanceof FormData ? headers : { "content-type": "application/json", ...headers },
    body: body instanceof FormData ? body : JSON.stringify(body),
  });
  return { status: answer.status, headers: answer.headers, json: (await answer.json()) as Json };
}

async function query(text: string): Promise<readonly (readonly (string | null)[])[]> {
  await using sql = createPgPool({ dsn, max: 1, application_name: "media test" });
  return (await sql.query({ text })).rows;
}

const objects = (): string[] =>
  readdirSync(join(mediaFolder, "home"), { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [entry.name] : [],
  );

describe("uploads", () => {
  test("a file is stored once, decoded once, and answered by an address that works", async () => {
    const { status, json } = await send("/photos", formOf({ picture: "whole.png" }, { title: "Ä", n: "7" }));
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { title: "Ä", n: 7, caption: "64x48 RGB", second: null, width: 320, tone: "RGB", tiny: 4 },
    });
    const picture = await fetch(String(json.picture));
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect(Buffer.from(await picture.arrayBuffer()).equals(readFileSync(join(folder, "whole.png")))).toBe(true);
    const thumb = await fetch(String(json.thumb), { headers: { range: "bytes=0-1" } });
    expect([thumb.status, Buffer.from(await thumb.arrayBuffer()).toString("hex")]).toEqual([206, "ffd8"]);
    const [cell] = (await query("select picture from photos where title = 'Ä'"))[0] ?? [];
    expect(JSON.parse(cell ?? "")).toMatchObject({
      store: "home",
      type: "image/png",
      width: 320,
      height: 240,
      mode: "RGB",
      name: "whole.png",
    });
    const before = objects();
    await send("/photos", formOf({ picture: "whole.png" }));
    expect(objects()).toEqual(before);
  });

  test("images are seen as their camera was held", async () => {
    const { json } = await send("/try", formOf({ picture: "turned.jpg" }));
    expect(json).toEqual({ caption: "48x64 RGB" });
  });

  test("a compute route stores neither row nor upload", async () => {
    const rows = await query("select count(*) from photos");
    await send("/try", formOf({ picture: "other.jpg" }));
    expect(await query("select count(*) from photos")).toEqual(rows);
    expect(objects().filter((name) => name.endsWith(".jpg")).length).toBeGreaterThan(0);
    expect(readdirSync(join(mediaFolder, "uploads"))).toEqual([]);
    expect(readdirSync(join(mediaFolder, "scratch"))).toEqual([]);
  });

  test("a request with an idempotency key is answered again with an address", async () => {
    const key = { "idempotency-key": "one" };
    const first = await send("/photos", formOf({ picture: "other.jpg" }, { title: "once" }), key);
    const second = await send("/photos", formOf({ picture: "other.jpg" }, { title: "once" }), key);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(second.json).toEqual(first.json);
    const other = await send("/photos", formOf({ picture: "whole.png" }, { title: "once" }), key);
    expect(other.json.code).toBe("idempotency_mismatch");
  });

  test("a column that is a given file refers to it, wherever it is computed", async () => {
    const { json } = await send("/same", formOf({ picture: "whole.png", text: "a.md" }, { key: "a" }));
    expect([json.shown, json.read]).toEqual([json.picture, json.text]);
    const told = await send("/same/told", formOf({ picture: "whole.png", text: "a.md" }, { key: "b" }));
    expect(told.json).toEqual({ key: "b", shown: "(320, 240)", same: true, caption: "320x240 RGB" });
    const cells = "select picture = shown, text = read from same order by key";
    expect(await query(cells)).toEqual([
      ["t", "t"],
      ["t", "t"],
    ]);
  });

  test("an address in place of a file is downloaded, checked and kept as it is", async () => {
    const { port } = web.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/whole.png`;
    const { status, json } = await send("/photos", { title: "by address", picture: url });
    expect({ status, json }).toMatchObject({ status: 200, json: { picture: url, caption: "64x48 RGB" } });
    const inForm = await send("/photos", formOf({}, { picture: url }));
    expect(inForm.json).toMatchObject({ picture: url });
  });
});

describe("bad input", () => {
  test.each([
    ["a file that was cut", { picture: "cut.jpg" }, {}, "media_invalid"],
    ["a page with the name of an image", { picture: "page.png" }, {}, "media_invalid"],
    ["an empty file", { picture: "empty.png" }, {}, "media_invalid"],
    ["no file at all", {}, { title: "x" }, "invalid_request"],
    ["a file for a field that takes none", { picture: "whole.png", title: "whole.png" }, {}, "invalid_request"],
    ["a number that is none", { picture: "whole.png" }, { n: "seven" }, "invalid_request"],
    ["an unknown field", { picture: "whole.png" }, { titel: "x" }, "invalid_request"],
    ["an address that does not exist", {}, { picture: "http://127.0.0.1:1/x.png" }, "media_unreachable"],
    ["a file of the server", {}, { picture: "file:///etc/passwd" }, "invalid_request"],
    ["a path of the server", {}, { picture: "/etc/passwd" }, "invalid_request"],
  ])("%s is refused and nothing is stored", async (_what, files, fields, code) => {
    const rows = await query("select count(*) from photos");
    const { status, json } = await send("/photos", formOf(files, fields));
    expect(json).toMatchObject({ code });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(JSON.stringify(json)).not.toContain(mediaFolder);
    expect(await query("select count(*) from photos")).toEqual(rows);
    expect(readdirSync(join(mediaFolder, "uploads"))).toEqual([]);
  });

  test("two files for one field are refused", async () => {
    const form = formOf({ picture: "whole.png" });
    form.append("picture", new Blob([readFileSync(join(folder, "other.jpg"))]), "other.jpg");
    expect((await send("/photos", form)).json).toMatchObject({
      code: "invalid_request",
      detail: expect.stringContaining("picture"),
    });
  });

  test("files above the limit are refused", async () => {
    const form = new FormData();
    form.append("picture", new Blob([Buffer.alloc(1_000_001)]), "large.png");
    expect(await send("/photos", form)).toMatchObject({ status: 413, json: { code: "media_too_large" } });
  });

  test("a broken file of a column with media_validation='on_read' fails its own cells", async () => {
    const { status, json, headers } = await send("/loose", formOf({ picture: "cut.jpg" }, { key: "a" }));
    expect({ status, json }).toMatchObject({ status: 200, json: { key: "a", caption: null } });
    expect(headers.get("x-cell-errors") ?? headers.get("cell-errors")).toContain("caption");
  });

  test("what is not known of a file before it is read is computed in Python", async () => {
    const { json } = await send("/loose", formOf({ picture: "whole.png" }, { key: "b" }));
    expect(json).toMatchObject({ key: "b", caption: "320x240 RGB", width: 320 });
  });

  test("a store that fails is reported by its own code, and nothing is stored", async () => {
    const { status, json } = await send("/lost", formOf({ picture: "whole.png" }, { key: "a" }));
    expect({ status, json }).toMatchObject({
      status: 502,
      json: {
        code: "media_store_not_found",
        detail: "Column lost.thumb: The store file:///no/such/store does not exist: ENOENT.",
        hint: expect.stringContaining("Nothing was stored."),
      },
    });
    expect(await query("select count(*) from lost")).toEqual([["0"]]);
  });

  test("an image of another size than its column's is refused", async () => {
    const { json } = await send("/lost", formOf({ picture: "turned.jpg" }, { key: "a" }));
    expect(json).toMatchObject({
      code: "media_invalid",
      detail: expect.stringContaining("the column holds images of size (None, 240), this one has (240, 320)"),
    });
  });

  test("a function cannot make the service read a file of its own", async () => {
    const { json } = await send("/strange", { title: "/etc/passwd" });
    expect(json.code).not.toBeUndefined();
    expect(JSON.stringify(json)).not.toContain("root:");
  });

  test.each(["x", "../../etc/passwd", "AAAA".repeat(20)])("the token %s leads to nothing", async (token) => {
    const answer = await fetch(`${base}/_media/${encodeURIComponent(token)}/a.png`);
    expect(((await answer.json()) as Json).code).toBe("media_address_invalid");
  });
});

describe("file responses", () => {
  test("a query answers with the file of its row", async () => {
    const { json } = await send("/photos", formOf({ picture: "whole.png" }, { title: "file" }));
    const answer = await fetch(`${base}/photos/${String(json.id)}/thumb`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "image/jpeg"]);
    const etag = answer.headers.get("etag") ?? "";
    const again = await fetch(`${base}/photos/${String(json.id)}/thumb`, { headers: { "if-none-match": etag } });
    expect(again.status).toBe(304);
    const missing = await fetch(`${base}/photos/00000000-0000-0000-0000-000000000000/thumb`);
    expect(((await missing.json()) as Json).code).toBe("row_not_found");
    const wrong = await fetch(`${base}/photos/seven/thumb`);
    expect(((await wrong.json()) as Json).code).toBe("invalid_request");
  });

  test("a compute route answers with the file that it made", async () => {
    const answer = await fetch(`${base}/shrink`, { method: "POST", body: formOf({ picture: "whole.png" }) });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "image/jpeg"]);
  });

  test("a list answers with addresses", async () => {
    const { rows } = (await (await fetch(`${base}/titles`)).json()) as { rows: Json[] };
    expect(rows.length).toBeGreaterThan(0);
    for (const { thumb, high } of rows) {
      expect(high).toBe(48);
      expect((await fetch(String(thumb), { method: "HEAD" })).status).toBe(200);
    }
  });

  test("a handler and an aggregate of the application get files too", async () => {
    const rows = (await (await fetch(`${base}/handled`)).json()) as Json[];
    expect(String(rows[0]?.thumb)).toMatch(/^\/_media\//);
    expect((await fetch(base + String(rows[0]?.thumb))).status).toBe(200);
    const { rows: totals } = (await (await fetch(`${base}/widths`)).json()) as { rows: Json[] };
    expect(Number(totals[0]?.total) % 16).toBe(0);
    expect(Number(totals[0]?.total)).toBeGreaterThan(0);
  });

  test("a document that can run scripts is downloaded and not shown", async () => {
    const { json } = await send("/files", formOf({ text: "page.png" }, { key: "a" }));
    const answer = await fetch(String(json.text));
    expect(answer.headers.get("content-disposition")).toMatch(/^attachment/);
    const plain = await send("/files", formOf({ text: "a.md" }, { key: "b" }));
    expect((await fetch(String(plain.json.text))).headers.get("content-type")).toBe("text/markdown; charset=utf-8");
  });

  test("a temporary file of a function becomes its result, and none is left", async () => {
    const { json } = await send("/files", formOf({ text: "a.md" }, { key: "c" }));
    expect(await (await fetch(String(json.head))).text()).toBe("# Title\n");
    expect(readdirSync(join(mediaFolder, "scratch"))).toEqual([]);
  });
});

test("the description names the form, its files and the file that is answered", async () => {
  const { paths } = (await (await fetch(`${base}/openapi.json`)).json()) as { paths: Record<string, Json> };
  const text = JSON.stringify(paths["/photos"]);
  expect(text).toContain("multipart/form-data");
  expect(JSON.stringify(paths["/photos/{id}/thumb"])).toMatch(/"in":"path"[\s\S]*"image\/\*"/);
  expect(Object.keys(paths)).not.toContain("/_media/{token}/{name}");
});
