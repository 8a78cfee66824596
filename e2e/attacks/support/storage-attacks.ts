import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { archiveOf, digestOf } from "../../support/tree.ts";
import type { AttackTarget, Tenant } from "./attack-target.ts";

const LONG = process.env.APPDB_FAULTS === "long";
const MEGABYTE = 1024 ** 2;
/** File limit of an organization on this server; the attacker sends more. */
export const STORED_FILES = 4_000;
const BATCH = 1_000;
const BATCHES = LONG ? 300 : 6;
/** Number of names of one 8 MiB blob: the tree has half of the gigabyte that an organization may store. */
const NAMES = 64;
const PLANS = 4;

/** Registers attacks on the machine's disk and inodes. They use up the attacker's quota, so they run last. */
export function testStorageAttacks(open: () => AttackTarget): void {
  describe("a member who stores much data", () => {
    test.runIf(LONG)("unpacks no more bytes than the organization's limit", async () => {
      const { mallory } = open();
      const chunk = randomBytes(8 * MEGABYTE);
      expect(await upload(mallory, [chunk])).toBe(200);
      const statuses: number[] = [];
      for (let at = 0; at < PLANS; at += 1) {
        const files = Array.from({ length: NAMES }, (_, number) => ({
          path: `f${at}-${number}`,
          size: chunk.length,
          is_executable: false,
          link: null,
          chunks: [digestOf(chunk)],
        }));
        const body = { app_file: "app.py", folders: [], file_digests: null, files };
        statuses.push((await mallory.ask("POST", "/databases/main/schema/plan", body)).status);
      }
      // other statuses: the tree was unpacked and has no application file
      expect(statuses).toContain(409);
    });

    test("stores no more files than the organization's limit", async () => {
      const { mallory } = open();
      const statuses: number[] = [];
      for (let at = 0; at < BATCHES; at += 1) {
        const blobs = Array.from(
          { length: BATCH },
          () => randomBytes(3).toString("base64") + randomBytes(2).toString("hex"),
        );
        statuses.push(await upload(mallory, blobs));
        if (statuses.at(-1) !== 200) break;
      }
      expect(statuses[0]).toBe(200);
      expect(statuses.filter((status) => status === 200).length * BATCH).toBeLessThanOrEqual(STORED_FILES);
    });

    test("leaves space for another organization", async () => {
      const { victim } = open();
      expect(await upload(victim, [randomBytes(100)])).toBe(200);
    });
  });
}

async function upload(tenant: Tenant, blobs: readonly (string | Uint8Array)[]): Promise<number> {
  return (await tenant.ask("PUT", "/blobs", archiveOf(blobs))).status;
}
