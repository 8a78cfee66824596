import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findLockOwner } from "@appdb/system/processes/numbered-lock";
import { describe, expect, test } from "vitest";
import { send } from "../../support/hosted.ts";
import type { AttackTarget, Tenant } from "./attack-target.ts";

const MEGABYTE = 1024 ** 2;
/** Time in which an unauthorized request would have woken a database; a wake by a key takes a tenth of it. */
const WAKE_MS = 6_000;
/** Number of concurrent bodies, and the gateway memory that they may use together. */
const BODIES = 600;
const MAX_GROWTH_MB = 400;

/** Registers attacks on the gateway, which all organizations share. */
export function testGatewayAttacks(open: () => AttackTarget): void {
  describe("a client that sends requests to the gateway", () => {
    test("wakes a sleeping database with a key", async () => {
      const { victim } = open();
      await putToSleep(victim);
      expect(await send(`${victim.tools}/whoami`, victim.key, "GET")).toMatchObject({ status: 200 });
      await victim.settles("AVAILABLE");
    });

    test("wakes no database by a health or preflight request without a key", async () => {
      const { victim } = open();
      await putToSleep(victim);
      const origin = { origin: "https://shop.example.com", "access-control-request-method": "POST" };
      const asked = [
        fetch(`${victim.tools}/health`, { signal: AbortSignal.timeout(WAKE_MS) }),
        fetch(`${victim.tools}/health`, { method: "HEAD", signal: AbortSignal.timeout(WAKE_MS) }),
        fetch(`${victim.tools}/docs`, { method: "OPTIONS", headers: origin, signal: AbortSignal.timeout(WAKE_MS) }),
      ];
      await Promise.allSettled(asked);
      await sleep(WAKE_MS / 4);
      const { json } = await victim.ask("GET", "/databases/main");
      await victim.ask("POST", "/databases/main/start");
      await victim.settles("AVAILABLE");
      expect(json).toMatchObject({ state: "STOPPED", operation: null });
    });

    test("an organization's code sees its own cookies but no dashboard session", async () => {
      const { mallory } = open();
      const names = ["appdb.session_token", "__Secure-appdb.session_token", "__Host-appdb.session_token"];
      const cookie = ["theme=dark", ...names.map((name) => `${name}=stolen.signature`), "lang=en"].join("; ");
      const answer = await fetch(`${mallory.tools}/headers`, { headers: { "x-api-key": mallory.key, cookie } });
      const text = await answer.text();
      expect(text).toContain("theme=dark");
      expect(text).toContain("lang=en");
      expect(text).not.toContain("stolen");
    });

    test("waiting bodies of one organization use little gateway memory", async () => {
      const target = open();
      const { mallory, victim } = target;
      const text = "x".repeat(MEGABYTE - 100);
      const honest = await send(`${mallory.tools}/nap`, mallory.key, "POST", { seconds: 0, text });
      expect(honest, honest.text.slice(0, 300)).toMatchObject({ status: 200 });
      const pid = gatewayPid(target);
      const before = residentMb(pid);
      const body = Buffer.from(JSON.stringify({ seconds: 20, text }));
      const agent = new Agent({ keepAlive: false, maxSockets: BODIES });
      const sent = Array.from({ length: BODIES }, () => holdRequest(mallory, body, agent));
      let max = before;
      for (let at = 0; at < 20; at += 1) {
        await sleep(250);
        max = Math.max(max, residentMb(pid));
      }
      // the other organization is served meanwhile
      expect(await send(`${victim.tools}/whoami`, victim.key, "GET")).toMatchObject({ status: 200 });
      for (const { end } of sent) end();
      agent.destroy();
      expect(Math.round(max - before)).toBeLessThan(MAX_GROWTH_MB);
    });
  });
}

async function putToSleep(tenant: Tenant): Promise<void> {
  const stopped = await tenant.ask("POST", "/databases/main/stop");
  expect(stopped.status, stopped.text).toBeLessThan(300);
  await tenant.settles("STOPPED");
}

function gatewayPid({ project }: AttackTarget): number {
  const pid = findLockOwner(join(project.home, "server", "locks"), "gateway.")?.pid;
  if (pid === undefined) throw new Error("no gateway runs");
  return pid;
}

function residentMb(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1] ?? Number.NaN) / 1024;
}

/** Sends a complete request and reads no answer until it is disposed. */
export function holdRequest({ tools, key }: Tenant, body: Buffer, agent: Agent): { end(): void } {
  const sent = request(`${tools}/nap`, {
    method: "POST",
    agent,
    headers: { "x-api-key": key, "content-type": "application/json", "content-length": body.length },
  });
  sent.on("error", () => undefined);
  void once(sent, "response").then(
    ([response]) => response.resume(),
    () => undefined,
  );
  sent.end(body);
  return { end: () => sent.destroy() };
}
