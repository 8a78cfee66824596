import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, makeProject, post, query, read, serveProject } from "./support/served.ts";

const APP = `
import appdb as db
from appdb.serving import Router

class Items(db.model_base(), name="items"):
    sku = db.Column(type=db.String, primary_key=True)
    n: db.Int
    price: db.Float | None
    ok: db.Bool | None
    at: db.Timestamp | None
    day: db.Date | None
    tag: db.UUID | None
    doc: db.Json | None
    title: db.String | None

shop = Router()
shop.add_insert_route(Items, path="/items")
shop.add_compute_route(Items, path="/look", inputs=[Items.n, Items.title], outputs=[Items.n, Items.title])
`;
const TAKES = "The route takes: sku, n, price?, ok?, at?, day?, tag?, doc?, title?";

/** A body with the invalid field and its error; without that field the row is valid. */
const FIELDS: readonly [what: string, body: string, pointer: string, detail: RegExp][] = [
  ["lacks a required field", '{"sku":"x"}', "/n", /"n" is required/],
  ["has null in a required field", '{"sku":"x","n":null}', "/n", /"n" must not be null/],
  ["has text for an Int", '{"sku":"x","n":"1"}', "/n", /integer, got "1"/],
  ["has a fraction for an Int", '{"sku":"x","n":1.5}', "/n", /integer, got 1\.5/],
  ["has a number for a Bool", '{"sku":"x","n":1,"ok":1}', "/ok", /boolean .* got 1/],
  ["has a number for a String", '{"sku":7,"n":1}', "/sku", /got 7/],
  ["has a word for a Timestamp", '{"sku":"x","n":1,"at":"soon"}', "/at", /ISO 8601 .* "soon"/],
  ["has a day that is none", '{"sku":"x","n":1,"day":"2023-02-29"}', "/day", /"2023-02-29"/],
  ["has a UUID that is none", '{"sku":"x","n":1,"tag":"123"}', "/tag", /"123"/],
  ["has an unknown field", '{"sku":"x","n":1,"titel":"t"}', "/titel", /no field "titel"\. Did you mean "title"\?/],
  ["has an Int beyond int64", '{"sku":"x","n":9223372036854775808}', "/n", /^9223372036854775808 is beyond the range/],
  ["has an Int below int64", '{"sku":"x","n":-9223372036854775809}', "/n", /^-9223372036854775809 is beyond/],
  ["has a number beyond Float", '{"sku":"x","n":1,"price":1e999}', "/price", /beyond the range of Float/],
  ["has NUL in text", '{"sku":"x\\u0000","n":1}', "/sku", /NUL/],
  ["has NUL in Json", '{"sku":"x","n":1,"doc":{"a":["\\u0000"]}}', "/doc", /NUL/],
  ["has half a surrogate pair", '{"sku":"x","n":1,"title":"\\ud800"}', "/title", /surrogate/],
  ["has half a surrogate pair in Json", '{"sku":"x","n":1,"doc":["\\udc00"]}', "/doc", /surrogate/],
  ["has a number beyond Float in Json", '{"sku":"x","n":1,"doc":[-1e999]}', "/doc", /Float/],
];

const BODIES: readonly [what: string, body: string | Uint8Array, status: number, code: string, detail: RegExp][] = [
  ["is no JSON", "nonsense {", 400, "invalid_json", /not JSON/],
  ["is empty", "", 400, "invalid_json", /./],
  ["breaks off", '{"sku":"x",', 400, "invalid_json", /not JSON/],
  ["has NaN", '{"sku":"x","n":1,"price":NaN}', 400, "invalid_json", /NaN/],
  ["is not UTF-8", Uint8Array.of(0x22, 0xff, 0x22), 400, "invalid_json", /UTF-8/],
  ["is an array with a row that does not fit", '[{"sku":"x","n":1},{"sku":"y"}]', 422, "invalid_request", /required/],
  ["is a text", '"x"', 422, "invalid_request", /object/],
  ["is null", "null", 422, "invalid_request", /null/],
];

let project: TestProject;
let url: string;

beforeAll(async () => {
  project = await makeProject(APP);
  url = await serveProject(project);
  expect((await post(`${url}/items`, { sku: "first", n: 1 })).status).toBe(200);
});

afterAll(async () => {
  await project[Symbol.asyncDispose]();
});

/** A refusal is a complete problem document with the request's id and does not change the row. */
async function expectRefused(answer: Answer, status: number, code: string): Promise<void> {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
  expect(answer.json).toMatchObject({ status, code, detail: expect.any(String), hint: expect.any(String) });
  expect(answer.json.instance).toBe(answer.headers.get("x-request-id"));
  expect(await query(project, "select sku, n, _errors from items")).toEqual([["first", "1", null]]);
}

describe("behaviour 13: a body that", () => {
  test.each(FIELDS)("%s is 422 with the field", async (_what, body, pointer, detail) => {
    const answer = await post(`${url}/items`, body);
    await expectRefused(answer, 422, "invalid_request");
    expect(answer.json.errors).toEqual([{ pointer, detail: expect.stringMatching(detail) }]);
    expect(answer.json.hint).toBe(TAKES);
  });

  test.each(BODIES)("%s is refused completely", async (_what, body, status, code, detail) => {
    const answer = await post(`${url}/items`, body);
    await expectRefused(answer, status, code);
    expect(answer.json.detail + answer.json.hint).toMatch(detail);
  });

  test("has several mistakes reports all of them", async () => {
    const answer = await post(`${url}/items`, { n: "1", ok: "yes", titel: "t" });
    await expectRefused(answer, 422, "invalid_request");
    expect(answer.json.errors.map((error: { pointer: string }) => error.pointer).sort()).toEqual([
      "/n",
      "/ok",
      "/sku",
      "/titel",
    ]);
  });

  test("has 20 MB is refused with the limit, and the service continues", async () => {
    const answer = await post(`${url}/items`, JSON.stringify({ sku: "x".repeat(20_000_000), n: 1 }));
    await expectRefused(answer, 413, "payload_too_large");
    expect(answer.json.detail).toContain("16000000 bytes");
    expect((await post(`${url}/look`, { n: 2 })).json).toEqual({ n: 2, title: null });
  });

  test("has no JSON content type is refused", async () => {
    const answer = await post(`${url}/items`, { sku: "x", n: 1 }, { "content-type": "text/plain" });
    await expectRefused(answer, 415, "unsupported_media_type");
  });

  test("has mistakes is refused by a compute route too", async () => {
    const answer = await post(`${url}/look`, { n: null, titel: "t" });
    await expectRefused(answer, 422, "invalid_request");
    expect(answer.json.errors).toHaveLength(2);
  });
});

describe("a request", () => {
  test.each(["GET", "PUT", "PATCH", "DELETE"])("%s of a POST route is 405 with Allow", async (method) => {
    const answer = await read(await fetch(`${url}/items`, { method }));
    await expectRefused(answer, 405, "method_not_allowed");
    expect(answer.headers.get("allow")).toBe("POST, OPTIONS");
    expect(answer.json.detail).toContain(`does not answer ${method}`);
  });

  test("of an unknown path is 404 with the nearest one", async () => {
    const answer = await post(`${url}/itmes`, { sku: "x", n: 1 });
    await expectRefused(answer, 404, "not_found");
    expect(answer.json.detail).toContain("Did you mean /items?");
  });

  test("behaviour 14: with an existing key is 409 and changes no row", async () => {
    const answer = await post(`${url}/items`, { sku: "first", n: 2 });
    await expectRefused(answer, 409, "unique_violation");
    expect(answer.json.detail).toMatch(/items .*\(sku\) = \("first"\).*unique constraint/);
  });

  test("stores one of eight concurrent rows with one new key", async () => {
    try {
      const all = await Promise.all(Array.from({ length: 8 }, (_, n) => post(`${url}/items`, { sku: "racing", n })));
      const stored = all.filter((answer) => answer.status === 200);
      expect(all.map((answer) => answer.status).sort()).toEqual([200, ...Array(7).fill(409)]);
      expect(await query(project, "select n from items where sku = 'racing'")).toEqual([[String(stored[0]?.json.n)]]);
    } finally {
      await query(project, "delete from items where sku = 'racing'");
    }
  });
});
