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
from appdb.functions import audio, image, video
from appdb.serving import Router
from PIL import Image

Base = db.model_base()

class Half(TypedDict):
    side: str
    half: Image.Image
    mirrored: Image.Image

@db.iterator(unstored_cols=["mirrored"])
def halves(picture: Image.Image) -> Iterator[Half]:
    width, height = picture.size
    for side, left in (("left", 0), ("right", width // 2)):
        half = picture.crop((left, 0, left + width // 2, height))
        yield {"side": side, "half": half, "mirrored": half.transpose(Image.Transpose.FLIP_LEFT_RIGHT)}

class Film(Base, name="films"):
    key = db.Column(type=db.String, primary_key=True)
    film: db.Video

class Frame(Base, name="frames", base=Film, iterator=video.frame_iterator(Film.film, fps=1)):
    wide = frame.width

class Part(Base, name="parts", base=Film, iterator=video.video_splitter(Film.film, duration=1.0)):
    seconds = video_segment.get_duration()

class Sound(Base, name="sounds"):
    key = db.Column(type=db.String, primary_key=True)
    sound: db.Audio

class Piece(Base, name="pieces", base=Sound, iterator=audio.audio_splitter(Sound.sound, duration=1.0)):
    pass

class Photo(Base, name="photos"):
    key = db.Column(type=db.String, primary_key=True)
    picture: db.Image

class Tile(Base, name="tiles", base=Photo, iterator=image.tile_iterator(Photo.picture, (20, 20))):
    pass

class PhotoHalf(Base, name="halves", base=Photo, iterator=halves(Photo.picture)):
    high = half.height

@db.query
def frames():
    return Frame.select(Frame.key, Frame.pos, Frame.wide, shown=Frame.frame.width, at=Frame.frame_attrs.pts)

@db.query
def parts():
    return Part.select(Part.pos, Part.segment_start, Part.seconds)

@db.query
def pieces():
    return Piece.select(Piece.pos, Piece.segment_start, Piece.segment_end, Piece.audio_segment)

@db.query
def tiles():
    return Tile.where(Tile.pos < 2).select(Tile.tile_box, wide=Tile.tile.width)

@db.query
def both():
    return PhotoHalf.select(PhotoHalf.side, PhotoHalf.high, wide=PhotoHalf.half.width, other=PhotoHalf.mirrored.width)

api = Router(name="api")
api.add_insert_route(Film, path="/film", outputs=[Film.key])
api.add_insert_route(Sound, path="/sound", outputs=[Sound.key])
api.add_insert_route(Photo, path="/photo", outputs=[Photo.key])
for each in (frames, parts, pieces, tiles, both):
    api.add_query_route(path=f"/{each.__name__}", query=each)
`;

/** Writes a film of 3 s, a sound of 2.5 s and a picture into a folder. */
const WRITE = `
import sys, wave, av
from fractions import Fraction
from PIL import Image
folder = sys.argv[1]
with av.open(folder + "/film.mp4", "w") as film:
    stream = film.add_stream("mpeg4", rate=10)
    stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
    for number in range(30):
        frame = av.VideoFrame.from_image(Image.new("RGB", (64, 48), (8 * number, 0, 0)))
        for packet in stream.encode(frame):
            film.mux(packet)
    for packet in stream.encode():
        film.mux(packet)
with wave.open(folder + "/sound.wav", "wb") as sound:
    sound.setnchannels(1)
    sound.setsampwidth(2)
    sound.setframerate(8000)
    sound.writeframes(b"\\0\\1" * 20000)
Image.new("RGB", (50, 40), "red").save(folder + "/picture.png")
`;

let folder: string;
let web: Server;
let tested: TestApplication;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "appdb-media-views-"));
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
});

afterAll(async () => {
  await tested?.[Symbol.asyncDispose]();
  web?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function insert(path: string, body: Record<string, unknown>): Promise<void> {
  const { status, text } = await tested.post(path, body);
  expect(status, text).toBe(200);
}

async function rowsOf(path: string): Promise<Record<string, unknown>[]> {
  const { status, text, json } = await tested.post(path, {});
  expect(status, text).toBe(200);
  return json.rows;
}

const address = (name: string) => `http://127.0.0.1:${(web.address() as AddressInfo).port}/${name}`;

test("frames of a film are rows, and their pictures are read from the film", async () => {
  await insert("/film", { key: "f", film: address("film.mp4") });
  const frames = await rowsOf("/frames");
  expect(frames.map(({ key, pos, wide, shown }) => ({ key, pos, wide, shown }))).toEqual(
    [0, 1, 2].map((pos) => ({ key: "f", pos, wide: 64, shown: 64 })),
  );
  const parts = await rowsOf("/parts");
  expect(parts.map(({ pos }) => pos)).toEqual([0, 1, 2]);
  for (const { seconds } of parts) expect(seconds).toBeCloseTo(1, 0);
});

test("parts of a sound are stored as files", async () => {
  await insert("/sound", { key: "s", sound: address("sound.wav") });
  const pieces = await rowsOf("/pieces");
  expect(pieces).toHaveLength(3);
  for (const { audio_segment: piece } of pieces) expect(piece).toMatch(/\/_media\//);
});

test("tiles are cut when they are read, and outputs of an own iterator are stored or made again", async () => {
  await insert("/photo", { key: "p", picture: address("picture.png") });
  expect(await rowsOf("/tiles")).toMatchObject([{ wide: 20 }, { wide: 20 }]);
  expect(await rowsOf("/both")).toEqual([
    { side: "left", high: 40, wide: 25, other: 25 },
    { side: "right", high: 40, wide: 25, other: 25 },
  ]);
});
