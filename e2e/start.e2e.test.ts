import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";
import { makePlace, ROOT } from "./support/place.ts";

const START = join(ROOT, "scripts", "start.mjs");

test("npm start deploys the quickstart on a hosted database, finds it again at the next start, and Ctrl-C stops all of it", async () => {
  await using place = makePlace();
  const rows: string[] = [];
  const addresses = new Set<string>();
  for (const run of ["first", "second"]) {
    const started = place.start(`node '${START}'`);
    const line = await eventually(
      () => {
        expect(started.child.exitCode, started.output()).toBe(null);
        const curl = /^ +(curl -X POST .*)$/m.exec(started.output())?.[1];
        expect(curl, started.output()).toBeDefined();
        return curl ?? "";
      },
      { timeout_ms: 90_000 },
    );
    // the first one was inserted by npm start itself
    const own = /A row was inserted through the gateway and answered:\s+(\{.*\})/.exec(started.output())?.[1] ?? "";
    const inserted = await place.type(line);
    expect(inserted.code, `${run}: ${inserted.stderr}\n${started.output()}`).toBe(0);
    for (const answer of [own, inserted.stdout]) {
      expect(JSON.parse(answer), run).toMatchObject({ title_upper: "HELLO", summary: "Hello" });
      rows.push(JSON.parse(answer).id);
    }
    expect(started.output().includes("$ cli service update"), run).toBe(run === "first");
    const endpoint = /curl -X POST (\S+)\/docs/.exec(line)?.[1] ?? "";
    const refused = await place.type(`curl -sS -X POST ${endpoint}/docs -d '{}'`);
    expect(JSON.parse(refused.stdout), run).toMatchObject({ status: 401 });

    const dashboard = /^ {4}(http:\/\/127\.0\.0\.1:\d+)$/m.exec(started.output())?.[1] ?? "";
    const hosted = await place.type(`curl -sS ${dashboard}/v1/service`);
    expect(JSON.parse(hosted.stdout), started.output()).toMatchObject({ dashboard_url: dashboard });
    addresses.add(`${dashboard} ${endpoint}`);

    expect(started.child.exitCode, started.output()).toBe(null);
    expect(await started.interrupt("SIGINT"), started.output()).toBe(0);
    expect(started.output()).not.toContain("error:");
    expect(started.output()).not.toMatch(/sk_[a-z0-9]{12}_/);
    expect(place.processes()).toEqual([]);
  }
  expect(new Set(rows).size).toBe(4);
  // whoever has signed in finds the server again, and whoever calls the service does
  expect(addresses.size).toBe(1);
}, 240_000);
