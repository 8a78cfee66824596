import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
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
def describe(picture: Image.Image) -> str:
    return f"{picture.width}x{picture.height}"


class Photo(Base, name="photos"):
    key = db.Column(type=db.String, primary_key=True)
    n: db.Int | None
    picture: db.Image
    thumb = picture.thumbnail((32, 32))
    caption = describe(picture)


@db.query
def as_wide(picture: db.Image):
    return Photo.where(Photo.picture.width == picture.width).order_by(Photo.key).select(Photo.key, small=picture.thumbnail((4, 4)))


photos = Router()
uploads = {"uploadfile_inputs": [Photo.picture], "background": True}
photos.add_insert_route(Photo, path="/photos", **uploads)
photos.add_update_route(Photo, path="/photos/update", inputs=[], **uploads)
photos.add_compute_route(Photo, path="/photos/try", inputs=[Photo.n], outputs=[Photo.n, Photo.caption, Photo.thumb], **uploads)
photos.add_query_route(path="/as-wide", query=as_wide, uploadfile_inputs=["picture"], background=True)
`;

let service: MediaService;

beforeAll(async () => {
  const database = await createTestDatabase();
  service = await startMediaService({ database, runtimeIn: testRuntime, log: createSilentLog() }, APP);
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

/** Sends a form to a background route and waits for its job. */
async function work(path: string, files: Record<string, string>, fields: Record<string, string> = {}): Promise<Json> {
  const accepted = await service.send(path, service.formOf(files, fields));
  expect(accepted).toMatchObject({ status: 200, json: { job_url: expect.stringContaining("/_jobs/") } });
  return await end(String(accepted.json.job_url));
}

function end(jobUrl: string): Promise<Json> {
  return eventually(async () => {
    const job = (await (await fetch(new URL(new URL(jobUrl).pathname, service.base))).json()) as Json;
    expect(job.status).not.toBe("pending");
    return job;
  });
}

test("a job stores a row with its file, and its result has addresses", async () => {
  const { status, result } = await work("/photos", { picture: "whole.png" }, { key: "a", n: "7" });
  expect({ status, result }).toMatchObject({ status: "done", result: { key: "a", n: 7, caption: "320x240" } });
  const { picture, thumb } = result as { picture: string; thumb: string };
  const sent = Buffer.from(await (await fetch(picture)).arrayBuffer());
  expect(sent.equals(readFileSync(join(service.folder, "whole.png")))).toBe(true);
  expect((await fetch(thumb)).headers.get("content-type")).toBe("image/jpeg");
  expect(service.leftovers()).toEqual([]);
});

test("jobs update, compute and query with a file", async () => {
  await work("/photos", { picture: "whole.png" }, { key: "b" });
  expect(await work("/photos/update", { picture: "turned.jpg" }, { key: "b" })).toMatchObject({
    result: { key: "b", caption: "240x320" },
  });
  const { result } = await work("/photos/try", { picture: "turned.jpg" }, { n: "" });
  expect(result).toMatchObject({ n: null, caption: "240x320" });
  expect((await fetch(String((result as Json).thumb))).status).toBe(200);
  const asked = await work("/as-wide", { picture: "turned.jpg" });
  expect(asked).toMatchObject({ status: "done", result: { rows: [{ key: "b" }] } });
});

test.each([
  ["a number that is none", { picture: "whole.png" }, { key: "x", n: "few" }, "invalid_request"],
  ["no file", {}, { key: "x" }, "invalid_request"],
  ["an unknown field", { picture: "whole.png" }, { key: "x", m: "1" }, "invalid_request"],
  ["a page with the name of an image", { picture: "page.png" }, { key: "x" }, "media_invalid"],
] satisfies [string, Record<string, string>, Record<string, string>, string][])(
  "%s is refused before a job is accepted",
  async (_what, files, fields, code) => {
    const before = await service.query("select count(*) from appdb.background");
    const objects = service.objects();
    expect((await service.send("/photos", service.formOf(files, fields))).json).toMatchObject({ code });
    expect(await service.query("select count(*) from appdb.background")).toEqual(before);
    expect(service.objects()).toEqual(objects);
    expect(service.leftovers()).toEqual([]);
  },
);

test("a broken file fails its job, and no row is stored", async () => {
  const job = await work("/photos", { picture: "cut.jpg" }, { key: "cut" });
  expect(job).toMatchObject({ status: "error", error_detail: { code: "media_invalid" } });
  expect(await service.query("select count(*) from photos where key = 'cut'")).toEqual([["0"]]);
});

test("a request with an idempotency key makes one job", async () => {
  const key = { "idempotency-key": "one" };
  const form = (file: string) => service.formOf({ picture: file }, { key: "once" });
  const first = await service.send("/photos", form("whole.png"), key);
  expect((await service.send("/photos", form("whole.png"), key)).json).toEqual(first.json);
  expect((await service.send("/photos", form("other.jpg"), key)).json).toMatchObject({ code: "idempotency_mismatch" });
  expect(await end(String(first.json.job_url))).toMatchObject({ status: "done" });
});

test("an accepted file survives a restart of the service", async () => {
  await service.restart({ background_at_once: 0 });
  const { json } = await service.send("/photos", service.formOf({ picture: "other.jpg" }, { key: "later" }));
  expect(await service.query("select state from appdb.background order by seq desc limit 1")).toEqual([["queued"]]);
  await service.restart();
  const job = await end(String(json.job_url));
  expect(job).toMatchObject({ status: "done", result: { key: "later", caption: "320x240" } });
  const sent = Buffer.from(await (await fetch(String((job.result as Json).picture))).arrayBuffer());
  expect(sent.equals(readFileSync(join(service.folder, "other.jpg")))).toBe(true);
});

test("the description names the form of a job's request", async () => {
  const { paths } = (await (await fetch(`${service.base}/openapi.json`)).json()) as { paths: Record<string, Json> };
  const text = JSON.stringify(paths["/photos"]);
  expect(text).toContain("multipart/form-data");
  expect(text).toContain("BackgroundJobResponse");
});
