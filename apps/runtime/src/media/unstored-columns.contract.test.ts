import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase } from "@appdb/testkit/test-database";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Json, type MediaService, startMediaService } from "../testing/media-service.ts";

const APP = `
import appdb as db
from PIL import Image
from appdb.functions import now, uuid7
from appdb.serving import Router

Base = db.model_base()


@db.udf
def describe(picture: Image.Image) -> str:
    return f"{picture.width}x{picture.height}"


@db.udf
def inverse(n: int) -> float:
    return 1 / n


class Photo(Base, name="photos"):
    key = db.Column(type=db.String, primary_key=True)
    n: db.Int
    picture: db.Image
    double = db.Column(value=n * 2, stored=False)
    one = db.Column(value=inverse(n), stored=False)
    small = db.Column(value=picture.thumbnail((32, 32)), stored=False)
    caption = describe(small)
    more = double + 1


class Tag(Base, name="tags"):
    key = db.Column(type=db.String, primary_key=True)
    n: db.Int
    double = db.Column(value=n * 2, stored=False)


class Odd(Base, name="odd"):
    n: db.Int
    at = db.Column(value=now(), stored=False)
    ident = db.Column(value=uuid7(), stored=False)
    five = db.Column(value=5, stored=False)
    doc = db.Column(value={"n": n}, stored=False)


@db.query
def odd():
    return Odd.select(Odd.n, Odd.at, Odd.ident, Odd.five, Odd.doc)


@db.query
def listed(least: int = 0):
    return Photo.where(Photo.double >= least).order_by(Photo.double, asc=False).select(
        Photo.key, Photo.double, Photo.small, Photo.more, high=Photo.small.height
    )


@db.query
def whole():
    return Photo.order_by(Photo.key)


@db.query
def small_of(key: str):
    return Photo.where(Photo.key == key).select(Photo.small)


@db.query
def inverted(key: str):
    return Photo.where(Photo.key == key).select(Photo.one)


@db.query
def tagged():
    return Photo.join(Tag, on=Photo.double == Tag.double).order_by(Photo.key).select(Photo.key, tag=Tag.key)


@db.query
def grouped():
    return Photo.group_by(Photo.double).order_by(Photo.double).select(Photo.double, n=db.functions.count(Photo.key))


photos = Router()
photos.add_insert_route(Photo, path="/photos", uploadfile_inputs=[Photo.picture])
named = {"outputs": [Photo.key, Photo.more, Photo.double, Photo.small, Photo.one]}
photos.add_insert_route(Photo, path="/named", uploadfile_inputs=[Photo.picture], **named)
photos.add_insert_route(Photo, path="/named/ignore", uploadfile_inputs=[Photo.picture], on_error="ignore", **named)
photos.add_compute_route(Photo, path="/named/try", inputs=[Photo.n], outputs=[Photo.double, Photo.one])
photos.add_insert_route(
    Photo, path="/named/file", uploadfile_inputs=[Photo.picture], outputs=[Photo.small], return_fileresponse=True
)
photos.add_update_route(Photo, path="/named/update", inputs=[Photo.n], uploadfile_inputs=[Photo.picture], **named)
photos.add_update_route(Photo, path="/named/update/ignore", inputs=[Photo.n], on_error="ignore", outputs=[Photo.one, Photo.more])
photos.add_insert_route(Odd, path="/odd", outputs=["n", "at", "ident", "five", "doc"])
photos.add_query_route(path="/odd", query=odd, method="get")
photos.add_insert_route(Tag, path="/tags/named", outputs=[Tag.key, Tag.double])


@photos.update_route(Photo, path="/named/told", inputs=[Photo.n])
def told(*, key, double, more):
    return {"key": key, "sum": double + more}


photos.add_insert_route(Tag, path="/tags")
photos.add_query_route(path="/listed", query=listed, method="get")
photos.add_query_route(path="/whole", query=whole, method="get")
photos.add_query_route(path="/photos/{key}/small", query=small_of, method="get", return_fileresponse=True)
photos.add_query_route(path="/inverted", query=inverted, method="get", one_row=True)
photos.add_query_route(path="/tagged", query=tagged, method="get")
photos.add_query_route(path="/grouped", query=grouped, method="get")


@photos.get("/handled")
def handled():
    return [row["double"] for row in listed()]
`;

let service: MediaService;

beforeAll(async () => {
  const database = await createTestDatabase();
  service = await startMediaService({ database, runtimeIn: testRuntime, log: createSilentLog() }, APP);
  for (const [key, n] of Object.entries({ a: "1", b: "2", zero: "0" })) {
    await service.send("/photos", service.formOf({ picture: "whole.png" }, { key, n }));
  }
  await service.send("/tags", { key: "t", n: 2 });
});

afterEach(async () => {
  await service.query("delete from photos where key not in ('a', 'b', 'zero')");
  await service.query("update photos set n = 1, more = 3 where key = 'a'");
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

async function read(path: string): Promise<Json> {
  return (await (await fetch(service.base + path)).json()) as Json;
}

test("an unstored column has no column in the table, and stored ones read it", async () => {
  const { rows } = (await read("/whole")) as { rows: Json[] };
  expect(rows[0]).toEqual({ key: "a", n: 1, picture: expect.any(String), caption: "32x24", more: 3 });
  const columns = await service.query(
    "select column_name from information_schema.columns where table_name = 'photos' and column_name in ('double', 'small', 'one')",
  );
  expect(columns).toEqual([]);
});

test("a query computes it in its filter, order and values", async () => {
  const { rows } = (await read("/listed?least=2")) as { rows: Json[] };
  expect(rows.map(({ key, double, more, high }) => [key, double, more, high])).toEqual([
    ["b", 4, 5, 24],
    ["a", 2, 3, 24],
  ]);
  expect((await fetch(String(rows[0]?.small))).headers.get("content-type")).toBe("image/jpeg");
});

test("joins, groups and handlers compute it", async () => {
  expect(await read("/tagged")).toEqual({ rows: [{ key: "b", tag: "t" }] });
  expect(await read("/grouped")).toMatchObject({ rows: [{ double: 0, n: 1 }, { double: 2 }, { double: 4 }] });
  expect(await read("/handled")).toEqual([4, 2, 0]);
});

test("a route answers with its file", async () => {
  const answer = await fetch(`${service.base}/photos/a/small`);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "image/jpeg"]);
});

test("a value that cannot be computed fails the query that reads it, and no other", async () => {
  expect(await read("/inverted?key=b")).toEqual({ one: 0.5 });
  expect(await read("/inverted?key=zero")).toMatchObject({ code: "function_failed" });
  expect(((await read("/whole")) as { rows: Json[] }).rows).toHaveLength(3);
});

describe("as outputs of a route over its model", () => {
  const insert = (path: string, fields: Record<string, string>, headers = {}) =>
    service.send(path, service.formOf({ picture: "whole.png" }, fields), headers);
  const count = async (key: string) =>
    (await service.query(`select count(*) from photos where key = '${key}'`))[0]?.[0];

  test("an insert answers with them, once per idempotency key", async () => {
    const headers = { "idempotency-key": "unstored" };
    const { status, json } = await insert("/named", { key: "new", n: "4" }, headers);
    expect({ status, json }).toMatchObject({ status: 200, json: { key: "new", more: 9, double: 8, one: 0.25 } });
    expect((await fetch(String(json.small))).status).toBe(200);
    const again = await insert("/named", { key: "new", n: "4" }, headers);
    expect([again.headers.get("idempotency-replayed"), again.json]).toEqual(["true", json]);
  });

  test("one that fails refuses the row, or is null and named with on_error='ignore'", async () => {
    const refused = await insert("/named", { key: "new", n: "0" });
    expect(refused.json).toMatchObject({ code: "function_failed", detail: expect.stringContaining("photos.one") });
    expect(await count("new")).toBe("0");
    const { json, headers } = await insert("/named/ignore", { key: "new", n: "0" });
    expect(json).toMatchObject({ key: "new", more: 1, double: 0, one: null });
    expect(headers.get("x-cell-errors")).toContain("one;type=");
    expect(await service.query("select _errors from photos where key = 'new'")).toEqual([[null]]);
  });

  test("many rows in one request answer with them", async () => {
    const answer = await fetch(`${service.base}/tags/named`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify([
        { key: "x", n: 5 },
        { key: "y", n: 6 },
      ]),
    });
    expect(await answer.json()).toEqual([
      { key: "x", double: 10 },
      { key: "y", double: 12 },
    ]);
    expect(await service.query("select key, n from tags where key in ('x', 'y') order by key")).toEqual([
      ["x", "5"],
      ["y", "6"],
    ]);
  });

  test("times, ids, constants and dicts are values of them", async () => {
    const values = {
      n: 1,
      at: expect.stringMatching(/^20/),
      ident: expect.stringMatching(/-7/),
      five: 5,
      doc: { n: 1 },
    };
    expect((await service.send("/odd", { n: 1 })).json).toEqual(values);
    expect(await read("/odd")).toEqual({ rows: [values] });
  });

  test("a compute route and a file response compute them", async () => {
    expect((await service.send("/named/try", { n: 4 })).json).toEqual({ double: 8, one: 0.25 });
    const file = await fetch(`${service.base}/named/file`, {
      method: "POST",
      body: service.formOf({ picture: "whole.png" }, { key: "new", n: "0" }),
    });
    expect([file.status, file.headers.get("content-type")]).toEqual([200, "image/jpeg"]);
    expect(await count("new")).toBe("1");
  });

  test("an update computes them from the new and the unchanged values", async () => {
    expect((await service.send("/named/update", { key: "a", n: 5 })).json).toMatchObject({
      key: "a",
      more: 11,
      double: 10,
      one: 0.2,
    });
    expect((await service.send("/named/update", { key: "a" })).json).toMatchObject({ more: 11, double: 10, one: 0.2 });
    expect((await service.send("/named/told", { key: "a", n: 2 })).json).toEqual({ key: "a", sum: 9 });
    expect(await service.query("select n, more from photos where key = 'a'")).toEqual([["2", "5"]]);
  });

  test("an update that cannot compute one leaves the row, or answers null with on_error='ignore'", async () => {
    expect((await service.send("/named/update", { key: "a", n: 0 })).json).toMatchObject({ code: "function_failed" });
    expect(await service.query("select n from photos where key = 'a'")).toEqual([["1"]]);
    const { json, headers } = await service.send("/named/update/ignore", { key: "a", n: 0 });
    expect(json).toEqual({ one: null, more: 1 });
    expect(headers.get("x-cell-errors")).toContain("one;type=");
    expect(await service.query("select n, more, _errors from photos where key = 'a'")).toEqual([["0", "1", null]]);
  });

  test("the description shows them", async () => {
    const text = JSON.stringify(await read("/openapi.json"));
    expect(text).toContain('"double":{"type":"integer"');
  });
});
