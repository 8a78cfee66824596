import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { freePort } from "@appdb/testkit/free-ports";
import { ROOT, type TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { expectExit, makeProject, query } from "./support/served.ts";
import { deal, seeded, strike, type Victim } from "./support/victims.ts";

const LONG = process.env.APPDB_FAULTS === "long";
const KILLS = LONG ? 120 : 9;
const KILLED: readonly Victim[] = ["service", "worker", "postgres"];
const CLIENTS = 6;
/** Rows stored between two kills: every fault hits a working service. */
const ROWS_BETWEEN = 8;
const HEAL_MS = 60_000;
const TIMEOUT_MS = 20_000;
const PAUSE_MS = 150;
/** Different pictures: few, so that a deleted one is given again while it is collected. */
const PICTURES = 40;
const SIDES = [24, 400];

const APP = `
import appdb as db
from appdb.functions import uuid7
from appdb.serving import Router

class Photo(db.model_base(), name="photos"):
    id = db.Column(value=uuid7(), primary_key=True)
    picture: db.Image
    thumb = picture.resize((16, 16))

gallery = Router()
gallery.add_insert_route(Photo, path="/photos", uploadfile_inputs=[Photo.picture])
gallery.add_delete_route(Photo, path="/photos/delete")
`;

interface Sent {
  readonly sha256: string;
  readonly picture: string;
  readonly thumb: string;
}

test(
  `keeps the files of all rows in ${KILLS} kills of service, worker and PostgreSQL during uploads and collection`,
  async () => {
    const seed = Number(process.env.APPDB_SEED ?? Date.now() % 1_000_000);
    const random = seeded(seed);
    await using project = await makeProject(APP);
    const port = await freePort();
    const python = ["--python", join(ROOT, ".tools", "bin", "python")];
    await expectExit(project, 0, "schema", "update", "app.py", "main", ...python);
    await expectExit(project, 0, "service", "update", "app.py", "main", "-f", "--port", String(port), ...python);
    const load = startUploads(`http://127.0.0.1:${port}`, random);
    try {
      for (const victim of deal(KILLED, KILLS, random)) {
        const before = load.acknowledged();
        await strike(victim, project.home, random, HEAL_MS);
        if (victim === "service") await ageObjects(project);
        await eventually(() => expect(load.acknowledged()).toBeGreaterThan(before + ROWS_BETWEEN), {
          timeout_ms: HEAL_MS,
        }).catch((error: unknown) => {
          const last = [...load.refusals].slice(-5).join("; ");
          throw new Error(`Nothing was stored after the end of a ${victim} (seed ${seed}): ${last}`, { cause: error });
        });
        await new Promise((resolve) => setTimeout(resolve, random() * PAUSE_MS));
      }
    } finally {
      await load.stop();
    }
    const rows = await eventually(() => query(project, "select id, picture, thumb from photos"), {
      timeout_ms: HEAL_MS,
    });
    const stored = new Set(rows.map(([id]) => String(id)));
    const lost = [...load.kept].filter(([id]) => !stored.has(id));
    const home = join(project.home, "media", "main", "home");
    const broken = rows.flatMap(([, ...cells]) => cells.map(String)).filter((cell) => !isWhole(home, cell));
    expect({ seed, lost, broken }).toEqual({ seed, lost: [], broken: [] });
    for (const { picture, sha256, thumb } of load.kept.values()) {
      expect(sha256Of(await download(picture)), `the file of a row (seed ${seed})`).toBe(sha256);
      expect((await download(thumb)).length).toBeGreaterThan(0);
    }
    expect(load.deleted()).toBeGreaterThan(0);
    await query(project, "delete from photos");
    await strike("service", project.home, random, HEAL_MS);
    await ageObjects(project);
    await eventually(() => expect(filesIn(home), "files without rows").toEqual([]), { timeout_ms: HEAL_MS });
  },
  LONG ? 3_600_000 : 240_000,
);

/**
 * All files count as given long ago, so that the next service collects those without rows at its start. Those of a later
 * service, which may be about to be referred to, do not.
 */
async function ageObjects(project: TestProject): Promise<void> {
  const now = new Date().toISOString();
  const text = `update appdb.media_objects set put_at = put_at - interval '30 days', checked_at = null
    where put_at < '${now}' returning key`;
  await eventually(() => query(project, text), { timeout_ms: HEAL_MS });
}

/** Stored files; not those that a killed process was writing. */
function filesIn(home: string): readonly string[] {
  return readdirSync(home, { recursive: true, encoding: "utf8" }).filter((name) => /^..\/./.test(name));
}

/** Whether the file of a cell is the content that names it. */
function isWhole(home: string, cell: string): boolean {
  const { key } = JSON.parse(cell) as { key: string };
  const [, sha256] = /\/([0-9a-f]{64})\./.exec(key) ?? [];
  return sha256Of(readFileSync(join(home, key))) === sha256;
}

interface Uploads {
  /** Rows that were acknowledged and not deleted, by id. */
  readonly kept: ReadonlyMap<string, Sent>;
  readonly refusals: ReadonlySet<string>;
  acknowledged(): number;
  deleted(): number;
  stop(): Promise<void>;
}

/** Starts clients that insert pictures, and delete about every second one again. */
function startUploads(address: string, random: () => number): Uploads {
  const kept = new Map<string, Sent>();
  const refusals = new Set<string>();
  let acknowledged = 0;
  let deleted = 0;
  let isGoing = true;
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (isGoing) {
      const content = picture(Math.floor(random() * PICTURES));
      const form = new FormData();
      form.append("picture", new Blob([content]), "a.bmp");
      const row = await answerOf(`${address}/photos`, { method: "POST", body: form });
      if (typeof row === "string") {
        refusals.add(row);
        await new Promise((resolve) => setTimeout(resolve, 20));
        continue;
      }
      acknowledged += 1;
      const id = String(row.id);
      if (random() < 0.5) {
        kept.set(id, { sha256: sha256Of(content), picture: String(row.picture), thumb: String(row.thumb) });
        continue;
      }
      const headers = { "content-type": "application/json" };
      const gone = await answerOf(`${address}/photos/delete`, {
        method: "POST",
        headers,
        body: JSON.stringify({ id }),
      });
      if (typeof gone !== "string") deleted += 1;
    }
  });
  return {
    kept,
    refusals,
    acknowledged: () => acknowledged,
    deleted: () => deleted,
    async stop() {
      isGoing = false;
      await Promise.all(clients);
    },
  };
}

/** The answer's content, or the reason for having none. */
async function answerOf(url: string, request: RequestInit): Promise<Record<string, unknown> | string> {
  try {
    const answer = await fetch(url, { ...request, signal: AbortSignal.timeout(TIMEOUT_MS) });
    const body = (await answer.json()) as Record<string, unknown>;
    return answer.status === 200 ? body : `${answer.status} ${body.code}`;
  } catch (error) {
    return String(error);
  }
}

async function download(url: string): Promise<Buffer> {
  const answer = await fetch(url);
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

function sha256Of(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** A bitmap of 24 bits a pixel (BITMAPINFOHEADER): a small one, or one that is not held in memory. */
function picture(number: number): Buffer {
  const side = SIDES[number % SIDES.length] ?? 24;
  const pixels = Buffer.alloc(side * side * 3, number + 1);
  const head = Buffer.alloc(54);
  head.write("BM");
  head.writeUInt32LE(54 + pixels.length, 2);
  head.writeUInt32LE(54, 10);
  head.writeUInt32LE(40, 14);
  head.writeInt32LE(side, 18);
  head.writeInt32LE(side, 22);
  head.writeUInt16LE(1, 26);
  head.writeUInt16LE(24, 28);
  return Buffer.concat([head, pixels]);
}
