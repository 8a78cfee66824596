import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase } from "@appdb/testkit/test-database";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Json, type MediaService, startMediaService } from "../testing/media-service.ts";

const APP = `
import appdb as db
from PIL import Image
from appdb.serving import Router

Base = db.model_base()


@db.udf
def describe(picture: Image.Image) -> str:
    if picture.mode == "P":
        raise ValueError("no palettes")
    return f"{picture.width}x{picture.height}"


class Photo(Base, name="photos"):
    key = db.Column(type=db.String, primary_key=True)
    title: db.String | None
    picture: db.Image
    second: db.Image | None
    text: db.Document | None
    width = picture.width
    other = second.width
    caption = describe(picture)
    label = caption + "!"


class Loose(Base, name="loose", media_validation="on_read"):
    key = db.Column(type=db.String, primary_key=True)
    picture: db.Image
    caption = describe(picture)


photos = Router()
uploads = [Photo.picture, Photo.second, Photo.text]
photos.add_insert_route(Photo, path="/photos", uploadfile_inputs=uploads)
photos.add_update_route(Photo, path="/photos/update", inputs=[Photo.title], uploadfile_inputs=uploads)
photos.add_update_route(Photo, path="/photos/lenient", uploadfile_inputs=[Photo.second], inputs=[], on_error="ignore")
photos.add_update_route(Photo, path="/photos/any")
photos.add_update_route(
    Photo, path="/photos/file", inputs=[], uploadfile_inputs=[Photo.picture], outputs=[Photo.picture], return_fileresponse=True
)
photos.add_insert_route(Loose, path="/loose", uploadfile_inputs=[Loose.picture])
photos.add_update_route(Loose, path="/loose/update", inputs=[], uploadfile_inputs=[Loose.picture], on_error="ignore")


@photos.update_route(Photo, path="/photos/told", inputs=[], uploadfile_inputs=[Photo.picture])
def told(*, key, picture, caption):
    return {"key": key, "size": str(picture.size), "caption": caption}
`;

let service: MediaService;

beforeAll(async () => {
  const database = await createTestDatabase();
  service = await startMediaService({ database, runtimeIn: testRuntime, log: createSilentLog() }, APP);
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await service.query("delete from photos");
  await service.send(
    "/photos",
    service.formOf({ picture: "whole.png", second: "other.jpg" }, { key: "a", title: "t" }),
  );
});

async function update(path: string, files: Record<string, string>, fields: Record<string, string> = {}) {
  return service.send(path, service.formOf(files, { key: "a", ...fields }));
}

async function stored(columns: string): Promise<unknown> {
  return (await service.query(`select ${columns} from photos`))[0];
}

test("an upload replaces a file and recomputes the columns that read it", async () => {
  const { status, json } = await update("/photos/update", { picture: "turned.jpg" });
  expect({ status, json }).toMatchObject({
    status: 200,
    json: { title: "t", width: 240, caption: "240x320", label: "240x320!", other: 320 },
  });
  const sent = Buffer.from(await (await fetch(String(json.picture))).arrayBuffer());
  expect(sent.equals(readFileSync(join(service.folder, "turned.jpg")))).toBe(true);
  expect(await stored("picture::json->>'name', second::json->>'name', width")).toEqual([
    "turned.jpg",
    "other.jpg",
    "240",
  ]);
});

test("an address replaces a file, in JSON and in a form", async () => {
  const url = `http://127.0.0.1:${service.webPort}/turned.jpg`;
  const { json } = await service.send("/photos/update", { key: "a", picture: url });
  expect(json).toMatchObject({ picture: url, width: 240, caption: "240x320" });
  expect((await update("/photos/update", {}, { second: url })).json).toMatchObject({ second: url, other: 240 });
  expect((await service.send("/photos/any", { key: "a", second: url, title: "any" })).json).toMatchObject({
    title: "any",
  });
});

test("null and an empty field clear an optional file, and absent ones stay", async () => {
  expect((await update("/photos/update", {}, { title: "only" })).json).toMatchObject({
    title: "only",
    other: 320,
    width: 320,
  });
  expect((await service.send("/photos/update", { key: "a", second: null })).json).toMatchObject({
    second: null,
    other: null,
  });
  await update("/photos/update", { second: "whole.png" });
  expect((await update("/photos/update", {}, { second: "" })).json).toMatchObject({
    second: null,
    other: null,
    width: 320,
  });
  expect((await service.send("/photos/update", { key: "a", picture: null })).json).toMatchObject({
    code: "invalid_request",
    errors: [{ pointer: "/picture", detail: 'The field "picture" must not be null.' }],
  });
});

test.each([
  ["a file that was cut", "/photos/update", { picture: "cut.jpg" }, "media_invalid"],
  ["a file that was cut, although failed cells are ignored", "/photos/lenient", { second: "cut.jpg" }, "media_invalid"],
  ["a page with the name of an image", "/photos/update", { second: "page.png" }, "media_invalid"],
  ["a file for a column that takes none here", "/photos/lenient", { picture: "whole.png" }, "invalid_request"],
] satisfies [string, string, Record<string, string>, string][])(
  "%s is refused and the row stays",
  async (_what, path, files, code) => {
    const before = await stored("picture, second, width, other, caption, title");
    const { status, json } = await update(path, files, path === "/photos/update" ? { title: "changed" } : {});
    expect(json).toMatchObject({ code });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(await stored("picture, second, width, other, caption, title")).toEqual(before);
  },
);

test("a missing row is reported, and a missing file too", async () => {
  const missing = await service.send("/photos/update", service.formOf({ picture: "whole.png" }, { key: "none" }));
  expect(missing).toMatchObject({ status: 404, json: { code: "row_not_found" } });
  const away = await service.send("/photos/update", { key: "a", picture: "http://127.0.0.1:1/x.png" });
  expect(away.json).toMatchObject({ code: "media_unreachable" });
});

test("a function makes the response of an update with a file", async () => {
  const { json } = await update("/photos/told", { picture: "turned.jpg" });
  expect(json).toEqual({ key: "a", size: "(240, 320)", caption: "240x320" });
  expect(await stored("width, caption")).toEqual(["240", "240x320"]);
});

test("an update answers with the new file", async () => {
  const answer = await fetch(`${service.base}/photos/file`, {
    method: "POST",
    body: service.formOf({ picture: "turned.jpg" }, { key: "a" }),
  });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "image/jpeg"]);
});

test("an update with an idempotency key runs once", async () => {
  const key = { "idempotency-key": "one" };
  const form = (file: string) => service.formOf({ picture: file }, { key: "a" });
  const first = await service.send("/photos/update", form("turned.jpg"), key);
  const second = await service.send("/photos/update", form("turned.jpg"), key);
  expect(second.headers.get("idempotency-replayed")).toBe("true");
  expect(second.json).toEqual(first.json);
  expect((await service.send("/photos/update", form("whole.png"), key)).json).toMatchObject({
    code: "idempotency_mismatch",
  });
});

test("a broken file of a column with media_validation='on_read' fails its own cells", async () => {
  await service.send("/loose", service.formOf({ picture: "whole.png" }, { key: "a" }));
  const { json, headers } = await update("/loose/update", { picture: "cut.jpg" });
  expect(json).toMatchObject({ key: "a", caption: null });
  expect(headers.get("x-cell-errors")).toContain("caption");
});

test("concurrent updates of one row leave one whole state", async () => {
  const files = ["whole.png", "turned.jpg"];
  const answers = await Promise.all(
    files.flatMap((file) => [update("/photos/update", { picture: file }), update("/photos/update", { picture: file })]),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const [name, width, caption] = (await stored("picture::json->>'name', width, caption")) as string[];
  expect([width, caption]).toEqual(name === "whole.png" ? ["320", "320x240"] : ["240", "240x320"]);
});

test("the description of an update names its form and its files", async () => {
  const { paths } = (await (await fetch(`${service.base}/openapi.json`)).json()) as { paths: Record<string, Json> };
  const text = JSON.stringify(paths["/photos/update"]);
  expect(text).toContain("multipart/form-data");
  expect(text).toContain("invalid_form");
});
