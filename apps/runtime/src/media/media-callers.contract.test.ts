import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase } from "@appdb/testkit/test-database";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Json, LIMITED_KEY, type MediaService, startMediaService } from "../testing/media-service.ts";

const APP = `
import appdb as db
from PIL import Image
from appdb.serving import Router

Base = db.model_base()


@db.udf
def describe(picture: Image.Image) -> str:
    return f"{picture.width}x{picture.height}"


class Photo(Base, name="photos"):
    key = db.Column(type=db.String, primary_key=True)
    note: db.Json | None
    picture: db.Image
    caption = describe(picture)


@db.query
def as_wide(picture: db.Image):
    return Photo.where(Photo.picture.width == picture.width).order_by(Photo.key).select(Photo.key)


photos = Router()
uploads = {"uploadfile_inputs": [Photo.picture]}
photos.add_insert_route(Photo, path="/photos", **uploads)
photos.add_insert_route(Photo, path="/later", background=True, **uploads)
photos.add_update_route(Photo, path="/photos/update", inputs=[], **uploads)
photos.add_compute_route(Photo, path="/echo", inputs=[Photo.note], outputs=[Photo.picture, Photo.caption, Photo.note], **uploads)
photos.add_query_route(path="/as-wide", query=as_wide, uploadfile_inputs=["picture"])
photos.add_query_route(path="/as-wide-url", query=as_wide, method="get")


@photos.post("/handled")
def handled(picture: str):
    return Photo.insert({"key": "handled", "note": None, "picture": picture})
`;
const NAME = "mediafs://media/home/hr/payroll.png";

let service: MediaService;

beforeAll(async () => {
  const database = await createTestDatabase();
  service = await startMediaService({ database, runtimeIn: testRuntime, log: createSilentLog() }, APP);
  const form = service.formOf({ picture: "whole.png" }, { key: "first" });
  expect((await service.send("/photos", form)).status).toBe(200);
  await service.query(
    "insert into appdb.media_files (store, name, key, type, updated_at) select store, 'hr/payroll.png', key, 'image/png', now() from appdb.media_objects",
  );
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

const limited = (path: string, body: FormData | Json) => service.send(path, body, LIMITED_KEY);

const named: readonly [path: string, body: (name: string) => FormData | Json | Json[]][] = [
  ["/photos", (picture) => ({ key: "a", picture })],
  ["/photos", (picture) => [{ key: "a", picture }]],
  ["/photos", (picture) => service.formOf({}, { key: "a", picture })],
  ["/later", (picture) => ({ key: "a", picture })],
  ["/later", (picture) => [{ key: "a", picture }]],
  ["/later", (picture) => service.formOf({}, { key: "a", picture })],
  ["/photos/update", (picture) => ({ key: "first", picture })],
  ["/echo", (picture) => ({ picture })],
  ["/as-wide", (picture) => ({ picture })],
];

test.each(named)("a key without the media store names no file by %s %#", async (path, body) => {
  const answers = [];
  for (const name of [NAME, "mediafs://media/home/none.png", "mediafs://other/home/none.png"]) {
    const { json, status } = await limited(path, body(name) as Json);
    expect({ status, code: json.code }).toEqual({ status: 403, code: "forbidden" });
    const { instance: _, ...rest } = json;
    answers.push(rest);
  }
  expect(answers[0]).toMatchObject({
    detail: expect.stringContaining("picture: The API key may not read the media store"),
    hint: expect.stringContaining("cli key create"),
  });
  // nothing tells which name exists
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[2]).toEqual(answers[0]);
});

test("rows of lines and addresses in a URL name no file either", async () => {
  const headers = { ...LIMITED_KEY, "content-type": "application/jsonl" };
  const lines = `{"key":"b","picture":"http://127.0.0.1:${service.webPort}/whole.png"}\n{"key":"c","picture":"${NAME}"}`;
  const many = await fetch(`${service.base}/photos`, { method: "POST", headers, body: lines });
  expect([many.status, await many.json()]).toEqual([
    403,
    expect.objectContaining({ code: "forbidden", detail: expect.stringMatching(/^Line 2: picture: /) }),
  ]);
  const asked = await fetch(`${service.base}/as-wide-url?picture=${NAME}`, { headers: LIMITED_KEY });
  expect(asked.status).toBe(403);
  expect(await service.query("select key from photos")).toEqual([["first"]]);
});

test("a key without the media store gives uploads, addresses of responses, and public ones", async () => {
  const uploaded = await limited("/echo", service.formOf({ picture: "other.jpg" }));
  expect(uploaded).toMatchObject({ status: 200, json: { caption: "320x240" } });
  const shown = await limited("/echo", { picture: `http://127.0.0.1:${service.webPort}/whole.png` });
  expect(shown.status).toBe(200);
  const stored = await limited("/photos", service.formOf({ picture: "whole.png" }, { key: "signed" }));
  const { picture } = stored.json;
  expect(picture).toEqual(expect.stringContaining("/_media/"));
  expect(await limited("/echo", { picture })).toMatchObject({ status: 200, json: { caption: "320x240" } });
  expect(await limited("/photos/update", { key: "signed", picture })).toMatchObject({ status: 200 });
  await service.query("delete from photos where key = 'signed'");
});

test("an address in JSON stays text", async () => {
  const note = { picture: NAME, list: [NAME, "file:///etc/passwd"] };
  const { json } = await limited("/echo", {
    picture: `http://127.0.0.1:${service.webPort}/whole.png`,
    note: note as unknown as Json,
  });
  expect(json.note).toEqual(note);
});

test("others name files: the owner, and code of the application", async () => {
  for (const [path, body] of named.filter(([path]) => path === "/echo" || path === "/as-wide")) {
    expect((await service.send(path, body(NAME) as Json)).status).toBe(200);
  }
  expect((await service.send("/photos", { key: "owner", picture: NAME })).status).toBe(200);
  const accepted = await service.send("/later", [{ key: "job", picture: NAME }] as unknown as Json);
  expect(accepted.status).toBe(200);
  await eventually(async () =>
    expect((await (await fetch(String(accepted.json.job_url))).json()) as Json).toMatchObject({ status: "done" }),
  );
  expect((await limited(`/handled?picture=${encodeURIComponent(NAME)}`, {})).status).toBe(200);
});
