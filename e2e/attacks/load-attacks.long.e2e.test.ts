import { randomBytes } from "node:crypto";
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { useSandbox } from "@appdb/testkit/sandbox";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { archiveOf } from "../support/tree.ts";
import { type AttackTarget, openAttackTarget } from "./support/attack-target.ts";
import { lockDocument, openTarpit, PROJECT, packageOf, plan, projectOf } from "./support/control-attacks.ts";
import { holdRequest } from "./support/gateway-attacks.ts";
import { type LoadResult, startVictimLoad } from "./support/victim-load.ts";

const OPEN_MS = 120_000;
const WINDOW_MS = 15_000;
const MEGABYTE = 1024 ** 2;

type Attack = (target: AttackTarget, signal: AbortSignal) => Promise<void>;

/** H2 needs no load: it starts a server on a machine without sandboxes. */
const ATTACKS: Readonly<Record<string, Attack>> = {
  H1: async ({ mallory }, signal) => {
    while (!signal.aborted) await plan(mallory, lockDocument(Array.from({ length: 4_000 }, (_, at) => `d${at}`)));
  },
  H3: async ({ mallory }, signal) => {
    for (let at = 0; at < 20 && !signal.aborted; at += 1) {
      const blobs = Array.from({ length: 500 }, () => randomBytes(4).toString("hex"));
      await Promise.all([1, 2, 3].map(() => mallory.ask("PUT", "/blobs", archiveOf(blobs))));
    }
  },
  H4: async ({ mallory }, signal) => {
    await using tarpit = await openTarpit();
    const hooks: string[] = [];
    const loops: string[] = [];
    for (let at = 0; at < 20; at += 1) {
      const made = await mallory.ask("POST", "/webhooks", { url: `${tarpit.url}/${at}`, actions: ["key.*"] });
      if (made.status === 201) hooks.push(made.json.id);
    }
    const [environment, texts] = await packageOf("loop", "while True: time.sleep(1)");
    for (const name of ["second", "third"]) {
      const project = { ...(await projectOf(mallory, { ...PROJECT, ...texts })), environment };
      const body = { ...project, expected_generation: 0, allow_destructive: false };
      const begun = await mallory.ask("POST", `/databases/${name}/update`, body);
      if (begun.json?.operation?.id !== undefined) loops.push(begun.json.operation.id);
    }
    for (let at = 0; at < 50 && !signal.aborted; at += 1) {
      await mallory.ask("POST", "/keys", { name: `event-${at}` });
      await mallory.ask("DELETE", `/keys/event-${at}`);
      await mallory.ask("POST", "/databases/main/services/tools/restart");
    }
    while (!signal.aborted) await sleep(100);
    for (const id of hooks) await mallory.ask("DELETE", `/webhooks/${id}`);
    for (const id of loops) await mallory.ask("POST", `/operations/${id}/cancel`);
  },
  H5: async ({ mallory }, signal) => {
    const agent = new Agent({ maxSockets: 400 });
    const body = Buffer.from(JSON.stringify({ seconds: 20, text: "x".repeat(MEGABYTE - 100) }));
    const sent = Array.from({ length: 400 }, () => holdRequest(mallory, body, agent));
    while (!signal.aborted) await sleep(100);
    for (const { end } of sent) end();
    agent.destroy();
  },
  H6: async ({ mallory }, signal) => {
    await mallory.ask("POST", "/databases/main/stop");
    while (!signal.aborted) {
      const asked = Array.from({ length: 5 }, () =>
        fetch(`${mallory.tools}/health`, { signal: AbortSignal.any([signal, AbortSignal.timeout(1_000)]) }),
      );
      await Promise.allSettled([...asked, sleep(100)]);
    }
  },
};

/**
 * Two organizations under load, one of which attacks. Prints times without asserting them; no request of the other may
 * fail.
 */
if ((await useSandbox()) !== undefined) {
  describe("two organizations under load", () => {
    let target: AttackTarget;
    let alone: { readonly service: LoadResult; readonly control: LoadResult };
    const lines = [
      "| attack | route | p50 alone | p99 alone | p99 attacked | ratio | failed |",
      "|---|---|---|---|---|---|---|",
    ];

    beforeAll(async () => {
      target = await openAttackTarget({ SERVICE_PODS: "sandbox", SERVICE_WEBHOOK_PRIVATE: "1" });
      await measure();
      alone = await measure();
    }, OPEN_MS);
    afterAll(async () => {
      process.stdout.write(`\n${lines.join("\n")}\n`);
      await target?.[Symbol.asyncDispose]();
    });

    async function measure() {
      const load = await startVictimLoad(target.victim, target.hosted.url);
      await sleep(WINDOW_MS);
      return await load.stop();
    }

    test("lose no request without an attack", () => {
      for (const { answered, failed, first_failure: firstFailure } of [alone.service, alone.control]) {
        expect({ failed, first_failure: firstFailure }).toEqual({ failed: 0, first_failure: null });
        expect(answered).toBeGreaterThan(0);
      }
    });

    test.each(Object.keys(ATTACKS))("a victim loses no request during an attack by %s", async (name) => {
      const end = new AbortController();
      const attack = ATTACKS[name]?.(target, end.signal).catch((error: unknown) => error);
      await sleep(500);
      const seen = await measure();
      end.abort();
      await attack;
      for (const route of ["service", "control"] as const) {
        const { p50_ms: p50Ms, p99_ms: p99Ms } = alone[route];
        const { failed, p99_ms: attacked } = seen[route];
        const ratio = (attacked / p99Ms).toFixed(1);
        lines.push(
          `| ${name} | ${route} | ${p50Ms.toFixed(1)} ms | ${p99Ms.toFixed(1)} ms | ${attacked.toFixed(1)} ms | ${ratio} | ${failed} |`,
        );
      }
      await target.mallory.ask("POST", "/databases/main/start");
      await target.mallory.settles("AVAILABLE");
      expect([seen.service.first_failure, seen.control.first_failure]).toEqual([null, null]);
    });
  });
}
