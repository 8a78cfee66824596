import { execFile, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { open, readFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openTestProject, ROOT } from "@appdb/testkit/test-project";
import { measureAddresses, measureBesideUploads } from "./media-beside.ts";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";
import { sampleMemory, serveApplication, time } from "./support/served-project.ts";

const run = promisify(execFile);
const PYTHON = join(ROOT, ".tools", "bin", "python");
const CONNECTIONS = 16;
const LARGE_BYTES = 1 << 30;
const MEGABYTE = 1_000_000;
/** The first bytes of an MP4 file. */
const MP4 = Buffer.from("0000001866747970697368", "hex");
const MAKE_PICTURE =
  'import sys; from PIL import Image; Image.effect_noise((320, 240), 30).convert("RGB").save(sys.argv[1], quality=70)';
const BOUNDARY = "bench-boundary";

/** Measures uploads, thumbnails, file responses and addresses against the same work without a service. */
export async function measureMedia(bench: Bench): Promise<Measure[]> {
  await using project = openTestProject();
  const { folder } = project;
  const { endpoint, pid } = await serveApplication(project, "media-app", PYTHON);
  const [large, film, picture] = ["large.mp4", "film.mp4", "picture.jpg"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await makeFilm(film, MEGABYTE);
  await run(PYTHON, ["-c", MAKE_PICTURE, picture]);
  const kept = JSON.parse(await upload(`${endpoint}/films`, "film", film)) as { film: string };
  const bare = fork(fileURLToPath(new URL("support/file-server.ts", import.meta.url)), [film], {
    execArgv: process.execArgv,
  });
  const [{ port }] = (await once(bare, "message")) as [{ port: number }];
  const rates = new Map<string, number[]>();
  const note = (name: string, value: number): void => void rates.set(name, [...ratesOf(name), value]);
  const ratesOf = (name: string): number[] => rates.get(name) ?? [];
  const memory: number[] = [];
  const beside = { endpoint, folder, picture, film };
  const besides: Measure[] = [];
  try {
    for (let at = 1; at <= bench.runs; at += 1) {
      bench.say(`run ${at} of ${bench.runs}, media`);
      const size = bench.runs === 1 ? LARGE_BYTES / 4 : LARGE_BYTES;
      await makeFilm(large, size);
      const copied = time("sh", ["-c", `cp "$0" "$0.copy" && sha256sum "$0.copy" && sync "$0.copy"`, large], {});
      note("copy", size / MEGABYTE / (copied / 1_000));
      const sampling = sampleMemory(pid, memory);
      const began = performance.now();
      await upload(`${endpoint}/films`, "film", large);
      const took = performance.now() - began;
      await sampling();
      note("upload", size / MEGABYTE / (took / 1_000));
      const { stdout } = await run(PYTHON, [join(ROOT, "bench/support/shrink.py"), picture, String(bench.seconds)]);
      note("pillow", Number(stdout));
      note("thumbs", await sendPictures(`${endpoint}/photos`, picture, bench.seconds));
      for (const [name, url] of [
        ["stream", `http://127.0.0.1:${port}/film.mp4`],
        ["file", kept.film],
      ] as const) {
        const load = { url, body: "", get_with: {}, connections: CONNECTIONS, seconds: bench.seconds };
        note(name, (await bench.load(load)).per_second);
      }
    }
    besides.push(await measureAddresses(bench, beside), await measureBesideUploads(bench, beside));
  } finally {
    bare.disconnect();
  }
  return [
    {
      name: "upload of 1 GiB, against cp and sha256sum",
      unit: "MB/s",
      ours: ratesOf("upload"),
      limit: ratesOf("copy"),
      reach: { at_least: 0.6 },
    },
    {
      name: "memory of service and workers during the upload",
      unit: "MB",
      ours: memory,
      limit: undefined,
      reach: { at_most: 150 },
    },
    {
      name: `pictures of 20 kB with a stored thumbnail, ${CONNECTIONS} conn., against Pillow alone in one process`,
      unit: "/s",
      ours: ratesOf("thumbs"),
      limit: ratesOf("pillow"),
      reach: { at_least: 0.6 },
    },
    {
      name: `file response of 1 MB, ${CONNECTIONS} conn., against a bare Node server`,
      unit: "/s",
      ours: ratesOf("file"),
      limit: ratesOf("stream"),
      reach: { at_least: 0.6 },
    },
    ...besides,
  ];
}

/** A file of that size with the head of a video; the rest is not compressible by a file system. */
async function makeFilm(path: string, bytes: number): Promise<void> {
  await using file = await open(path, "w");
  const block = randomBytes(1 << 20);
  await file.write(MP4);
  for (let left = bytes - MP4.length; left > 0; left -= block.length)
    await file.write(block, 0, Math.min(left, block.length));
}

async function upload(url: string, field: string, file: string): Promise<string> {
  return (await run("curl", ["-sf", "-F", `${field}=@${file}`, url])).stdout;
}

/** The body with another picture: steps of its first quantization table differ, and so do the pixels (ITU-T T.81, B.2.4.1). */
function differentPicture(body: Buffer, number: number): Buffer {
  const copy = Buffer.from(body);
  const table = copy.indexOf(Buffer.from("ffdb", "hex")) + 5;
  for (let at = 0; at < 6; at += 1) copy.writeUInt8(8 + ((number >> (3 * at)) & 7), table + 8 + at);
  return copy;
}

/** Sends the picture on all connections until the time is over; returns the rate of stored rows. */
async function sendPictures(url: string, picture: string, seconds: number): Promise<number> {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="picture"; filename="a.jpg"\r\n\r\n`;
  const tail = `\r\n--${BOUNDARY}--\r\n`;
  const same = Buffer.concat([Buffer.from(head), await readFile(picture), Buffer.from(tail)]);
  let sent = 0;
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const headers = { "content-type": `multipart/form-data; boundary=${BOUNDARY}`, "content-length": same.length };
  const send = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const sending = request(url, { method: "POST", agent, headers }, (answer) => {
        answer.resume().once("end", () => {
          if (answer.statusCode === 200) resolve();
          else reject(new Error(`a picture was answered with ${answer.statusCode}`));
        });
      });
      sending.once("error", reject);
      sending.end(differentPicture(same, sent++));
    });
  await send();
  const began = performance.now();
  let count = 0;
  const lanes = Array.from({ length: CONNECTIONS }, async () => {
    while (performance.now() - began < seconds * 1_000) {
      await send();
      count += 1;
    }
  });
  await Promise.all(lanes);
  agent.destroy();
  return count / ((performance.now() - began) / 1_000);
}
