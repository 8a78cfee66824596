import { createHash, randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isCloud, parseStoreAddress } from "@appdb/media/stores/media-address";
import { openStore } from "@appdb/media/stores/open-store";
import { findLockOwner } from "@appdb/system/processes/numbered-lock";
import { eventually } from "@appdb/testkit/eventually";
import { type ObjectStore, startableStores, startObjectStore } from "@appdb/testkit/object-stores";
import { describe, expect, test } from "vitest";
import { send, startWithAcme } from "./support/hosted.ts";
import { expectExit, makeProject } from "./support/served.ts";
import { kill, seeded } from "./support/victims.ts";

const LONG = process.env.APPDB_FAULTS === "long";
const KILLS = LONG ? 30 : 1;
const LANES = 3;
/** The last size needs several parts. */
const SIZES = [1_000, 2_000_000, 24_000_000];
const HEAL_MS = 60_000;
const PUT_MS = 30_000;
const PAUSE_MS = 400;
const MEDIA = "/v1/orgs/acme/databases/main/media";

/** The clouds that a server can use for its databases here; undefined: the folder of the home. One is the short form. */
const PLACES = LONG ? [undefined, ...startableStores()] : [startableStores()[0]];

describe.each(PLACES)("the media store in %s", (cloud) => {
  test(`has whole files only after ${KILLS} kills of the gateway during puts`, {
    timeout: LONG ? 1_800_000 : 300_000,
  }, async () => {
    const seed = Number(process.env.APPDB_SEED ?? Date.now() % 1_000_000);
    const random = seeded(seed);
    const bucket = cloud === undefined ? undefined : await startObjectStore(cloud);
    await using _bucket = bucket ?? noBucket();
    const media = bucket === undefined ? {} : { ...bucket.environment, SERVICE_MEDIA_URL: `${bucket.address}/files` };
    await using project = await makeProject("", { env: media });
    const { url } = await startWithAcme(project);
    const made = await expectExit(project, 0, "key", "create", "caller", "--org", "acme", "--json");
    const { api_key: key } = JSON.parse(made.stdout);
    const load = startPuts(`${url}${MEDIA}`, key, random);
    try {
      for (let done = 0; done < KILLS; done += 1) {
        await eventually(() => expect(load.running()).toBeGreaterThan(0), { timeout_ms: HEAL_MS });
        await new Promise((resolve) => setTimeout(resolve, random() * PAUSE_MS));
        const gateway = findLockOwner(join(project.home, "server", "locks"), "gateway.");
        expect(kill(gateway?.pid ?? 0), `the gateway runs (seed ${seed})`).toBe(true);
        const before = load.stored.size;
        await eventually(
          () => expect(load.stored.size, load.refusals.slice(-3).join()).toBeGreaterThan(before + LANES),
          {
            timeout_ms: HEAL_MS,
          },
        );
      }
    } finally {
      await load.stop();
    }
    const listed: string[] = [];
    for (let cursor = ""; cursor !== null; ) {
      const page = await send(`${url}${MEDIA}?deep=1&limit=1000&cursor=${cursor}`, key, "GET");
      for (const { name } of page.json.items) listed.push(name);
      cursor = page.json.next;
    }
    expect({ seed, lost: [...load.stored].filter((name) => !listed.includes(name)) }).toEqual({ seed, lost: [] });
    for (const name of listed) {
      const { json } = await send(`${url}${MEDIA}/read`, key, "POST", { names: [name] });
      const content = await (await fetch(json.files[0].address)).arrayBuffer();
      expect([seed, name, hashOf(Buffer.from(content))]).toEqual([seed, name, load.given.get(name)]);
    }
    const { id } = JSON.parse((await expectExit(project, 0, "db", "status", "cloud://acme:main", "--json")).stdout);
    const uploads = join(project.home, "server", "media", id, "uploads");
    expect(readdirSync(uploads).filter((name) => name.endsWith(".part"))).toEqual([]);
    if (bucket !== undefined) await expectNoParts(bucket);
  });
});

/** Puts files under new names, several at once, until stopped. `stored`: names of the puts that were acknowledged. */
function startPuts(url: string, key: string, random: () => number) {
  const given = new Map<string, string>();
  const stored = new Set<string>();
  const refusals: string[] = [];
  let running = 0;
  let isGoing = true;
  const put = async (name: string) => {
    const content = randomBytes(SIZES[Math.floor(random() * SIZES.length)] ?? 1_000);
    given.set(name, hashOf(content));
    const files = [{ name, bytes: content.length }];
    const { json } = await send(`${url}/write`, key, "POST", { files, expires_s: 600 });
    running += 1;
    try {
      const signal = AbortSignal.timeout(PUT_MS);
      const answer = await fetch(json.files[0].address, { method: "PUT", body: content, signal });
      if (answer.status === 201) stored.add(name);
      else refusals.push(`${answer.status} ${await answer.text()}`);
    } finally {
      running -= 1;
    }
  };
  const lane = async (number: number) => {
    for (let at = 0; isGoing; at += 1) {
      await put(`lane ${number}/${at}.bin`).catch((error: unknown) => {
        refusals.push(String(error));
        return new Promise((resolve) => setTimeout(resolve, 100));
      });
    }
  };
  const lanes = Array.from({ length: LANES }, (_, number) => lane(number));
  return {
    given,
    stored,
    refusals,
    running: () => running,
    async stop() {
      isGoing = false;
      await Promise.all(lanes);
    },
  };
}

/** Parts of a cut upload are ended as the gateway's daily look does it, and none is left. */
async function expectNoParts({ address, environment }: ObjectStore): Promise<void> {
  const place = parseStoreAddress(`${address}/files`);
  if (!isCloud(place)) throw new Error(`${address} is not a bucket.`);
  await using store = await openStore(place, { environment });
  const later = Date.now() + 60_000;
  await store.endUploads?.(later);
  expect((await store.endUploads?.(later)) ?? 0).toBe(0);
}

function noBucket(): AsyncDisposable {
  return { async [Symbol.asyncDispose]() {} };
}

function hashOf(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
