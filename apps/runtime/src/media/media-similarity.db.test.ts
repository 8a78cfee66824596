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

/** Images have their mean color as vector, and words that of the color which they name. `CALLS` is a file. */
function app(index: string): string {
  return `
from pathlib import Path

import appdb as db
from appdb.serving import Router
from PIL import Image, ImageColor, ImageStat

Base = db.model_base()


@db.udf
def color_of(picture: Image.Image) -> db.Array[(3,), db.Float]:
    with open("CALLS", "a") as file:
        file.write("x")
    return [1.0 + band for band in ImageStat.Stat(picture.convert("RGB")).mean]


@db.udf
def color_again(picture: Image.Image) -> db.Array[(3,), db.Float]:
    return [1.0 + band for band in ImageStat.Stat(picture.convert("RGB")).mean]


@db.udf
def color_named(word: str) -> db.Array[(3,), db.Float]:
    return [1.0 + band for band in ImageColor.getrgb(word)]


@db.udf
def opposite(word: str) -> db.Array[(3,), db.Float]:
    return [256.0 - band for band in ImageColor.getrgb(word)]


@db.udf
def letters(paper: db.Document) -> db.Array[(2,), db.Float]:
    text = Path(paper).read_text("utf-8")
    return [1.0 + text.count("a"), 1.0 + text.count("b")]


class Photo(Base, name="photos"):
    key = db.Column(type=db.String, primary_key=True)
    picture: db.Image | None
${index === "" ? "" : `    __indexes__ = [db.EmbeddingIndex(picture, ${index})]\n`}

class Paper(Base, name="papers"):
    key = db.Column(type=db.String, primary_key=True)
    text: db.Document
    __indexes__ = [db.EmbeddingIndex(text, document_embed=letters)]


r = Router(name="r")
r.add_insert_route(Photo, path="/photos", outputs=[Photo.key])
r.add_insert_route(Photo, path="/kept", outputs=[Photo.key], on_error="ignore")
r.add_insert_route(Paper, path="/papers", outputs=[Paper.key])


@db.query
def papers_like(text: db.Document):
    return Paper.order_by(Paper.text.similarity(document=text), asc=False).limit(1).select(Paper.key)


r.add_query_route(path="/papers_like", query=papers_like)
${index === "" ? "" : QUERIES}`;
}

const QUERIES = `
@db.query
def like(picture: db.Image | None):
    sim = Photo.picture.similarity(image=picture)
    return Photo.order_by(sim, asc=False).limit(2).select(Photo.key, sim=sim, twice=Photo.picture.similarity(picture))


@db.query
def named(word: str):
    return Photo.order_by(Photo.picture.similarity(string=word), asc=False).limit(1).select(Photo.key)


r.add_query_route(path="/like", query=like)
r.add_query_route(path="/named", query=named)
`;
const TWO_TOWERS = "image_embed=color_of, string_embed=color_named";

let folder: string;
let web: Server;
let tested: TestApplication;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "appdb-similar-"));
  const draw = `
import sys
from PIL import Image
for color in ("red", "darkred", "blue", "green"):
    Image.new("RGB", (20, 20), color).save(f"{sys.argv[1]}/{color}.png")
`;
  execFileSync(testRuntime(folder).python, ["-c", draw, folder]);
  writeFileSync(join(folder, "cut.png"), readFileSync(join(folder, "red.png")).subarray(0, 60));
  for (const letter of ["a", "b"]) writeFileSync(join(folder, `${letter}.txt`), letter.repeat(9));
  web = createServer((request, response) => {
    try {
      response.end(readFileSync(join(folder, basename(request.url ?? ""))));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  tested = await openTestApplication(named(app("")), {}, (media, sql) =>
    openMedia({
      place: localMediaPlace(media, {}),
      env: {},
      hosted: undefined,
      destinations: [],
      sql,
      log: createSilentLog(),
    }),
  );
  for (const key of ["red", "blue"]) await insert(tested, key);
  expect((await tested.post("/photos", { key: "none", picture: null })).status).toBe(200);
  const jobs = await tested.update(named(app(TWO_TOWERS)));
  await tested.finish(jobs);
});

afterAll(async () => {
  await tested?.[Symbol.asyncDispose]();
  web?.close();
  rmSync(folder, { recursive: true, force: true });
});

function named(source: string): string {
  return source.replace("CALLS", join(folder, "calls"));
}

function addressOf(file: string): string {
  return `http://127.0.0.1:${(web.address() as AddressInfo).port}/${file}`;
}

async function insert(to: Pick<TestApplication, "post">, key: string): Promise<void> {
  const made = await to.post("/photos", { key, picture: addressOf(`${key}.png`) });
  if (made.status !== 200) throw new Error(made.text);
}

test("rows are found by an image at an address, whose vector is computed once", async () => {
  await using served = await tested.serve(named(app(TWO_TOWERS)));
  const before = readFileSync(join(folder, "calls"), "utf8").length;
  const { json } = await served.post("/like", { picture: addressOf("darkred.png") });
  expect(json.rows.map(({ key }: { key: string }) => key)).toEqual(["red", "blue"]);
  expect(json.rows[0].sim).toBeCloseTo(1, 2);
  expect(json.rows[0].twice).toBe(json.rows[0].sim);
  // The two comparisons are equal expressions, and the rows have their vectors.
  expect(readFileSync(join(folder, "calls"), "utf8").length - before).toBe(1);
  expect((await served.post("/like", { picture: null })).json.rows[0].sim).toBeNull();
});

test("rows are found by a word, through a second function", async () => {
  await using served = await tested.serve(named(app(TWO_TOWERS)));
  expect((await served.post("/named", { word: "navy" })).json.rows).toEqual([{ key: "blue" }]);
  expect((await served.post("/named", { word: "maroon" })).json.rows).toEqual([{ key: "red" }]);
});

test("a new row has its vector, and one whose image is broken is refused", async () => {
  await using served = await tested.serve(named(app(TWO_TOWERS)));
  await insert(served, "green");
  expect((await served.post("/named", { word: "lime" })).json.rows).toEqual([{ key: "green" }]);
  const broken = await served.post("/photos", { key: "cut", picture: addressOf("cut.png") });
  expect([broken.status, broken.json.code]).toEqual([422, "media_invalid"]);
});

test("a file that cannot be read fails the request with its reason", async () => {
  await using served = await tested.serve(named(app(TWO_TOWERS)));
  const missing = await served.post("/like", { picture: addressOf("missing.png") });
  expect(missing.status).toBeGreaterThanOrEqual(400);
  expect(missing.json.detail).toContain("404");
  const broken = await served.post("/like", { picture: addressOf("cut.png") });
  expect(broken.json.detail).toContain("image");
  expect((await served.post("/like", { picture: "red.png" })).json.code).toBe("invalid_request");
});

test("documents are compared by their own function", async () => {
  await using served = await tested.serve(named(app(TWO_TOWERS)));
  for (const key of ["a", "b"]) {
    expect((await served.post("/papers", { key, text: addressOf(`${key}.txt`) })).status).toBe(200);
  }
  expect((await served.post("/papers_like", { text: addressOf("b.txt") })).json.rows).toEqual([{ key: "b" }]);
});

test("another function for words is used at once, and no vector is computed again", async () => {
  const changed = named(app("image_embed=color_of, string_embed=opposite"));
  const plan = (await tested.diff(changed)).tables.find(({ ops }) => ops.length > 0);
  expect(plan?.ops.map(({ description }) => description)).toEqual([
    "embedding index on (picture) will use other functions for the values that queries give",
  ]);
  expect(await tested.update(changed)).toEqual([]);
  await using served = await tested.serve(changed);
  expect((await served.post("/named", { word: "yellow" })).json.rows).toEqual([{ key: "blue" }]);
  expect((await tested.diff(changed)).tables.flatMap(({ ops }) => ops)).toEqual([]);
});

test("while a changed index is built, words are compared by the previous function", async () => {
  const changed = named(app("image_embed=color_again, string_embed=color_named"));
  const jobs = await tested.update(changed);
  await using served = await tested.serve(changed);
  expect((await served.post("/named", { word: "yellow" })).json.rows).toEqual([{ key: "blue" }]);
  await tested.finish(jobs);
  expect((await served.post("/named", { word: "navy" })).json.rows).toEqual([{ key: "blue" }]);
  expect((await served.post("/named", { word: "yellow" })).json.rows).not.toEqual([{ key: "blue" }]);
});
