import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
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
from typing import Iterator, TypedDict

import appdb as db
from appdb.functions import count, image, json, video, vision
from appdb.serving import Router
from PIL import Image

Base = db.model_base()

class Half(TypedDict):
    side: str
    mirrored: Image.Image

@db.iterator(unstored_cols=["mirrored"])
def halves(picture: Image.Image) -> Iterator[Half]:
    width, height = picture.size
    for side, left in (("left", 0), ("right", width // 2)):
        half = picture.crop((left, 0, left + width // 2, height))
        yield {"side": side, "mirrored": half.transpose(Image.Transpose.FLIP_LEFT_RIGHT)}

@db.udf
def red(picture: Image.Image) -> int:
    return picture.convert("RGB").getpixel((2, 2))[0]

@db.udf
def darker(picture: Image.Image) -> Image.Image:
    return picture.point(lambda value: value // 2)

@db.uda(allows_window=True)
class widest(db.Aggregator):
    def __init__(self):
        self.found = None

    def update(self, picture: Image.Image) -> None:
        if self.found is None or picture.width > self.found.width:
            self.found = picture

    def value(self) -> Image.Image | None:
        return self.found

class Film(Base, name="films"):
    key = db.Column(type=db.String, primary_key=True)
    film: db.Video
    found: db.Json | None

class Frame(Base, name="frames", base=Film, iterator=video.frame_iterator(Film.film, fps=10)):
    pass

class Part(Base, name="parts", base=Film, iterator=video.video_splitter(Film.film, duration=1.0)):
    pass

class Photo(Base, name="photos"):
    key = db.Column(type=db.String, primary_key=True)
    picture: db.Image

class Tile(Base, name="tiles", base=Photo, iterator=image.tile_iterator(Photo.picture, (20, 20))):
    pass

class PhotoHalf(Base, name="halves", base=Photo, iterator=halves(Photo.picture)):
    pass

@db.query
def forth(fps: int = 10):
    made = video.make_video(Frame.pos, Frame.frame, fps=fps)
    return Frame.group_by(Frame.key).select(Frame.key, made=made, n=count(), seconds=made.get_duration(), first=red(made.extract_frame(timestamp=0.0))).order_by(Frame.key)

@db.query
def back():
    made = video.make_video(-Frame.pos, Frame.frame.resize((32, 24)), fps=10)
    return Frame.where(Frame.key == "f").select(first=red(made.extract_frame(timestamp=0.0)), info=made.get_metadata())

@db.query
def dark():
    made = video.make_video(Frame.pos, darker(Frame.frame), fps=10)
    return Frame.where((Frame.key == "f") & (Frame.pos > 24)).select(first=red(made.extract_frame(timestamp=0.0)))

@db.query
def joined():
    made = video.concat_videos_agg(-Part.pos, Part.video_segment)
    return Part.where(Part.key == "f").select(seconds=made.get_duration(), first=red(made.extract_frame(timestamp=0.1)))

@db.query
def stitched():
    made = image.stitch_tiles(Tile.pos, Tile.tile, Tile.tile_box, Tile.picture.width, Tile.picture.height)
    return Tile.group_by(Tile.key).select(Tile.key, made=made, wide=made.width, high=made.height, red=red(made)).order_by(Tile.key)

@db.query
def mirrored():
    made = video.make_video(PhotoHalf.pos, PhotoHalf.mirrored, fps=2)
    return PhotoHalf.where(PhotoHalf.key == "p").select(seconds=made.get_duration())

@db.query
def growing():
    return Photo.select(Photo.key, wide=widest(Photo.picture, order_by=Photo.key).width).order_by(Photo.key)

@db.query
def sizes():
    return Photo.select(made=video.make_video(Photo.key, Photo.picture))

@db.query
def precision():
    return Film.select(ap=vision.mean_ap(Film.found))

@db.query
def nothing():
    return Frame.where(Frame.pos < 0).select(made=video.make_video(Frame.pos, Frame.frame))

api = Router(name="api")
api.add_insert_route(Film, path="/film", outputs=[Film.key])
api.add_insert_route(Photo, path="/photo", outputs=[Photo.key])
for each in (forth, back, dark, joined, stitched, mirrored, growing, sizes, precision, nothing):
    api.add_query_route(path=f"/{each.__name__}", query=each)
`;

/** Writes a film of 3 s that gets brighter and a short one, and pictures of two sizes. */
const WRITE = `
import sys, av
from PIL import Image
folder = sys.argv[1]
for name, count in (("film", 30), ("short", 5)):
    with av.open(f"{folder}/{name}.mp4", "w") as film:
        stream = film.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(count):
            frame = av.VideoFrame.from_image(Image.new("RGB", (64, 48), (8 * number, 0, 0)))
            for packet in stream.encode(frame):
                film.mux(packet)
        for packet in stream.encode():
            film.mux(packet)
Image.new("RGB", (50, 40), "red").save(folder + "/picture.png")
Image.new("RGB", (64, 40), "blue").save(folder + "/wide.png")
`;

let folder: string;
let web: Server;
let tested: TestApplication;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "appdb-media-aggregates-"));
  execFileSync(testRuntime(folder).python, ["-c", WRITE, folder]);
  web = createServer((request, response) => {
    response.end(readFileSync(join(folder, basename(request.url ?? ""))));
  });
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  tested = await openTestApplication(APP, {}, (place, sql) =>
    openMedia({
      place: localMediaPlace(place, {}),
      env: {},
      hosted: undefined,
      destinations: [],
      sql,
      log: createSilentLog(),
    }),
  );
  const address = (name: string) => `http://127.0.0.1:${(web.address() as AddressInfo).port}/${name}`;
  const found = [{ category: 1, tp: [1, 0], scores: [0.9, 0.8], num_gts: 1 }];
  for (const [path, body] of [
    ["/film", { key: "f", film: address("film.mp4"), found }],
    ["/film", { key: "s", film: address("short.mp4") }],
    ["/photo", { key: "p", picture: address("picture.png") }],
    ["/photo", { key: "q", picture: address("wide.png") }],
  ] as const) {
    const { status, text } = await tested.post(path, body);
    expect(status, text).toBe(200);
  }
});

afterAll(async () => {
  await tested?.[Symbol.asyncDispose]();
  web?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function rowsOf(path: string, body: Record<string, unknown> = {}): Promise<Record<string, unknown>[]> {
  const { status, text, json } = await tested.post(path, body);
  expect(status, text).toBe(200);
  return json.rows;
}

async function objects(): Promise<number> {
  const { rows } = await tested.sql.query({ text: "select count(*) from appdb.media_objects" });
  return Number(rows[0]?.[0]);
}

test("unstored frames of each video become a video, and only the videos are stored", async () => {
  const before = await objects();
  const found = await rowsOf("/forth");
  expect(found.map(({ key, n }) => [key, n])).toEqual([
    ["f", 30],
    ["s", 5],
  ]);
  expect(found[0]?.made).toMatch(/\/_media\//);
  expect(found[0]?.seconds).toBeCloseTo(3, 1);
  expect(found[1]?.seconds).toBeCloseTo(0.5, 1);
  expect(found[0]?.first).toBeLessThan(20);
  // The videos, and the frames that red() got.
  expect((await objects()) - before).toBeLessThanOrEqual(4);
  expect((await rowsOf("/forth", { fps: 5 }))[0]?.seconds).toBeCloseTo(6, 1);
});

test("frames come in the order of the key, changed by functions", async () => {
  const [row] = await rowsOf("/back");
  expect(row?.first).toBeGreaterThan(200);
  expect(JSON.stringify(row?.info)).toContain('"width":32');
  expect((await rowsOf("/dark"))[0]?.first).toBeGreaterThan(85);
  expect((await rowsOf("/dark"))[0]?.first).toBeLessThan(115);
});

test("videos are joined in order", async () => {
  const [row] = await rowsOf("/joined");
  expect(row?.seconds).toBeCloseTo(3, 0);
  expect(row?.first).toBeGreaterThan(140);
});

test("tiles become the images that they were cut of", async () => {
  expect(await rowsOf("/stitched")).toMatchObject([
    { key: "p", wide: 50, high: 40, red: 254 },
    { key: "q", wide: 64, high: 40, red: 0 },
  ]);
});

test("outputs of an own iterator are made again for an aggregate", async () => {
  expect((await rowsOf("/mirrored"))[0]?.seconds).toBeCloseTo(1, 1);
});

test("a window of images has an image for each row", async () => {
  expect(await rowsOf("/growing")).toEqual([
    { key: "p", wide: 50 },
    { key: "q", wide: 64 },
  ]);
});

test("precision is that of all rows, and no rows give no video", async () => {
  expect(await rowsOf("/precision")).toEqual([{ ap: { "1": 1 } }]);
  expect(await rowsOf("/nothing")).toEqual([{ made: null }]);
});

test("images of two sizes are refused with the query and the function", async () => {
  const { status, json } = await tested.post("/sizes", {});
  expect({ status, json }).toMatchObject({ status: 400, json: { code: "function_failed", meta: { column: "made" } } });
  expect(json.detail).toContain("a video has frames of one size, not 50x40 and 64x40");
});
