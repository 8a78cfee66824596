// Iterators over media: frames of a film, compared with PyAV alone, and memory while large files are split.
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { openTestProject, ROOT } from "@appdb/testkit/test-project";
import type { Bench } from "./support/bench.ts";
import { query } from "./support/psql.ts";
import type { Measure } from "./support/report.ts";
import { findDatabase, sampleMemory, serveApplication } from "./support/served-project.ts";

const run = promisify(execFile);
const PYTHON = join(ROOT, ".tools", "bin", "python");
/** Just below the limit of an upload, 2 GB. */
const MOVIE_BYTES = 1_950_000_000;
const PAPER_BYTES = 500_000_000;

/** Measures films with their frames one after the other, and memory while a movie and a document are split. */
export async function measureIterators(bench: Bench): Promise<Measure[]> {
  await using project = openTestProject();
  const { folder } = project;
  const { endpoint, pid } = await serveApplication(project, "iterators-app", PYTHON);
  const film = await makeFile(folder, "film", "film.mp4", 0);
  const sent: number[] = [];
  const alone: number[] = [];
  await post(`${endpoint}/films`, "film", film);
  for (let at = 1; at <= bench.runs; at += 1) {
    bench.say(`run ${at} of ${bench.runs}, frames`);
    const began = performance.now();
    let films = 0;
    for (; films === 0 || performance.now() - began < bench.seconds * 1_000; films += 1) {
      await post(`${endpoint}/films`, "film", film);
    }
    sent.push(films / ((performance.now() - began) / 1_000));
    const { stdout } = await run(PYTHON, [join(ROOT, "bench/support/frames.py"), film, String(bench.seconds)]);
    alone.push(Number(stdout));
  }
  const database = await findDatabase(project.home);
  const frames = await query(database, "select count(*) = 60 * (select count(*) from public.films) from public.frames");
  if (frames.trim() !== "t") throw new Error("films have another number of frames than by hand");
  const scale = bench.runs === 1 ? 8 : 1;
  const memory = async (kind: "movie" | "paper", field: string, bytes: number): Promise<number[]> => {
    bench.say(`memory, ${kind}`);
    const file = await makeFile(folder, kind, kind === "movie" ? "movie.mp4" : "paper.pdf", bytes);
    const most: number[] = [];
    const stop = sampleMemory(pid, most);
    await post(`${endpoint}/${kind}s`, field, file);
    await stop();
    await rm(file);
    return most;
  };
  return [
    {
      name: "films of 60 s with their frames at 1 fps, one after the other, against PyAV alone",
      unit: "/s",
      ours: sent,
      limit: alone,
      reach: { at_least: 0.7 },
      digits: 2,
    },
    {
      name: "memory of service and workers while a video of 2 GB is split into parts of 10 s",
      unit: "MB",
      ours: await memory("movie", "film", MOVIE_BYTES / scale),
      limit: undefined,
      reach: { at_most: 250 },
    },
    {
      name: "memory of service and workers while a PDF of 500 MB is split into pages",
      unit: "MB",
      ours: await memory("paper", "file", PAPER_BYTES / scale),
      limit: undefined,
      reach: { at_most: 250 },
    },
  ];
}

async function makeFile(folder: string, kind: string, name: string, bytes: number): Promise<string> {
  const path = join(folder, name);
  await run(PYTHON, [join(ROOT, "bench/support/make-media.py"), kind, path, String(Math.round(bytes))]);
  return path;
}

/** Sends one file. @throws with the response unless it is stored */
async function post(url: string, field: string, file: string): Promise<void> {
  const { stdout } = await run("curl", ["-s", "-w", "\n%{http_code}", "-F", `${field}=@${file}`, url]);
  if (!stdout.endsWith("\n200")) throw new Error(`${file} was answered with ${stdout}`);
}
