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
}, 60_000);

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
