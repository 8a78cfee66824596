import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase } from "@appdb/testkit/test-database";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Json, type MediaService, startMediaService } from "../testing/media-service.ts";

const APP = `
import appdb as db
from PIL import Image
from appdb.serving import Router

Base = db.model_base()


@db.udf
def light(picture: Image.Image) -> int:
    return picture.convert("L").resize((1, 1)).getpixel((0, 0))


@db.udf
def counted_light(picture: Image.Image) -> int:
    if picture.height > 300:
        raise ValueError("too high")
    with open("calls", "a") as file:
        file.write("x")
    return picture.convert("L").resize((1, 1)).getpixel((0, 0))


@db.udf
def words(text: db.Document) -> int:
    with open(text) as file:
        return len(file.read().split())


@db.udf
def same(text: db.Document) -> db.Document:
    return text


class Photo(Base, name="photos"):
    key = db.Column(type=db.String, primary_key=True)
    picture: db.Image
    width = picture.width


@db.query
def as_wide(picture: db.Image):
    return Photo.where(Photo.width == picture.width).order_by(Photo.key).select(Photo.key)


@db.query
def as_light(picture: db.Image, least: int = 0, hint: db.Image | None = None):
    return Photo.where(Photo.width >= least).order_by(Photo.key).limit(1).select(
        light=light(picture), high=picture.height, hinted=hint.width, small=picture.resize((4, 4))
    )


@db.query
def once(picture: db.Image, n: int = 0):
    light = counted_light(picture)
    return Photo.where(light > n).order_by(light, Photo.key).select(Photo.key, light=light, small=picture.resize((4, 4)))


@db.query
def shown(picture: db.Image):
    return Photo.limit(1).select(picture=picture)


@db.query
def counted(text: db.Document):
    return Photo.limit(1).select(words=words(text), same=same(text))


photos = Router()
photos.add_insert_route(Photo, path="/photos", uploadfile_inputs=[Photo.picture])
photos.add_query_route(path="/as-wide", query=as_wide, uploadfile_inputs=["picture"])
photos.add_query_route(path="/as-wide", query=as_wide, method="get")
photos.add_query_route(path="/as-light", query=as_light, uploadfile_inputs=["picture", "hint"], one_row=True)
photos.add_query_route(path="/once", query=once, uploadfile_inputs=["picture"])
photos.add_query_route(path="/shown", query=shown, uploadfile_inputs=["picture"], one_row=True)
photos.add_query_route(path="/shown/file", query=shown, uploadfile_inputs=["picture"], return_fileresponse=True)
photos.add_query_route(path="/counted", query=counted, uploadfile_inputs=["text"], one_row=True)
`;

let service: MediaService;

beforeAll(async () => {
  const database = await createTestDatabase();
  service = await startMediaService({ database, runtimeIn: testRuntime, log: createSilentLog() }, APP);
  for (const [key, picture] of Object.entries({ a: "whole.png", b: "other.jpg", c: "turned.jpg" })) {
    await service.send("/photos", service.formOf({ picture }, { key }));
  }
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

/** The files of the service: those of rows, and what requests leave behind. */
function files(): readonly string[] {
  return readdirSync(service.mediaFolder, { recursive: true }).map(String).sort();
}

test("an uploaded picture is compared with rows and not stored", async () => {
  const before = files();
  const wide = await service.send("/as-wide", service.formOf({ picture: "whole.png" }));
  expect(wide).toMatchObject({ status: 200, json: { rows: [{ key: "a" }, { key: "b" }] } });
  const narrow = await service.send("/as-wide", service.formOf({ picture: "turned.jpg" }));
  expect(narrow.json).toEqual({ rows: [{ key: "c" }] });
  expect(files()).toEqual(before);
});

test("functions and properties of an uploaded picture are values of the rows", async () => {
  const { json } = await service.send(
    "/as-light",
    service.formOf({ picture: "whole.png" }, { least: "100", hint: "" }),
  );
  expect(json).toMatchObject({ high: 240, hinted: null, light: expect.any(Number) });
  expect((await fetch(String(json.small))).headers.get("content-type")).toBe("image/jpeg");
  const hinted = await service.send("/as-light", service.formOf({ picture: "whole.png", hint: "turned.jpg" }));
  expect(hinted.json).toMatchObject({ hinted: 240 });
});

test("what is computed from files alone is computed once, not for each row", async () => {
  const { json } = await service.send("/once", service.formOf({ picture: "whole.png" }));
  const rows = json.rows as Json[];
  expect(rows.map(({ key }) => key)).toEqual(["a", "b", "c"]);
  expect(new Set(rows.map(({ light }) => light)).size).toBe(1);
  expect(new Set(rows.map(({ small }) => String(small).split("/").at(-2))).size).toBe(1);
  expect(readFileSync(join(service.folder, "calls"), "utf8")).toBe("x");
  const failed = await service.send("/once", service.formOf({ picture: "turned.jpg" }));
  expect(failed.json).toMatchObject({
    code: "function_failed",
    detail: expect.stringContaining("The query once, parameters: app:counted_light raised ValueError: too high"),
  });
});

test("an address is taken in JSON, in a form and in the URL", async () => {
  const url = `http://127.0.0.1:${service.webPort}/turned.jpg`;
  for (const body of [{ picture: url }, service.formOf({}, { picture: url })]) {
    expect((await service.send("/as-wide", body)).json).toEqual({ rows: [{ key: "c" }] });
  }
  const answer = await fetch(`${service.base}/as-wide?picture=${encodeURIComponent(url)}`);
  expect(await answer.json()).toEqual({ rows: [{ key: "c" }] });
});

test("a document's content is read by functions, and one that is returned can be fetched", async () => {
  const { json } = await service.send("/counted", service.formOf({ text: "a.md" }));
  expect(json).toMatchObject({ words: 3 });
  expect(await (await fetch(String(json.same))).text()).toBe("# Title\n\ntext");
});

test("a query that returns its file gives an address or the file", async () => {
  const { json } = await service.send("/shown", service.formOf({ picture: "turned.jpg" }));
  expect((await fetch(String(json.picture))).status).toBe(200);
  const file = await fetch(`${service.base}/shown/file`, {
    method: "POST",
    body: service.formOf({ picture: "turned.jpg" }),
  });
  expect([file.status, file.headers.get("content-type")]).toEqual([200, "image/jpeg"]);
});

test("pages of one upload continue each other", async () => {
  const first = await service.send("/as-wide?page_size=1", service.formOf({ picture: "whole.png" }));
  expect(first.json).toEqual({ rows: [{ key: "a" }] });
  const next = /<\?([^>]+)>/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
  expect((await service.send(`/as-wide?${next}`, service.formOf({ picture: "whole.png" }))).json).toEqual({
    rows: [{ key: "b" }],
  });
  expect((await service.send(`/as-wide?${next}`, service.formOf({ picture: "turned.jpg" }))).json).toMatchObject({
    code: "invalid_cursor",
  });
});

test.each([
  ["a file that was cut", "/as-wide", { picture: "cut.jpg" }, {}, "media_invalid"],
  ["a page with the name of an image", "/as-wide", { picture: "page.png" }, {}, "media_invalid"],
  ["no file", "/as-wide", {}, {}, "invalid_request"],
  ["an unknown field", "/as-wide", { picture: "whole.png" }, { n: "1" }, "invalid_request"],
  ["a number that is none", "/as-light", { picture: "whole.png" }, { least: "few" }, "invalid_request"],
  ["a file of the server", "/as-wide", {}, { picture: "file:///etc/passwd" }, "invalid_request"],
  ["an address that does not exist", "/as-wide", {}, { picture: "http://127.0.0.1:1/x.png" }, "media_unreachable"],
] satisfies [string, string, Record<string, string>, Record<string, string>, string][])(
  "%s is refused",
  async (_what, path, uploads, fields, code) => {
    const before = files();
    const { status, json } = await service.send(path, service.formOf(uploads, fields));
    expect(json).toMatchObject({ code });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(files()).toEqual(before);
  },
);

test("a live query takes no form", async () => {
  const form = service.formOf({ picture: "whole.png" });
  const { json } = await service.send("/as-wide", form, { accept: "text/event-stream" });
  expect(json).toMatchObject({ code: "invalid_request", detail: expect.stringContaining("A live query") });
});

test("the description names the form of a query and its files", async () => {
  const { paths } = (await (await fetch(`${service.base}/openapi.json`)).json()) as { paths: Record<string, Json> };
  const { post, get } = paths["/as-wide"] as { post: Json; get: Json };
  expect(JSON.stringify(post)).toContain("multipart/form-data");
  expect(JSON.stringify(get)).not.toContain("multipart/form-data");
});
