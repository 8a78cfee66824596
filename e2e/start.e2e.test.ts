import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";
import { makePlace, ROOT } from "./support/place.ts";

const START = join(ROOT, "scripts", "start.mjs");

test("npm start serves the quickstart and the hosted service without a terminal, and Ctrl-C stops all of it", async () => {
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
      { timeout_ms: 60_000 },
    );
    const inserted = await place.type(line);
    expect(inserted.code, `${run}: ${inserted.stderr}\n${started.output()}`).toBe(0);
    expect(JSON.parse(inserted.stdout), run).toMatchObject({ title_upper: "HELLO", summary: "Hello" });
    rows.push(JSON.parse(inserted.stdout).id);
    const page = /its documentation: (\S+)/.exec(started.output())?.[1] ?? "";
    const shown = await place.type(`curl -sS ${page}`);
    expect(shown.stdout, `${run}: ${shown.stderr}\n${started.output()}`).toContain("swagger");

    const dashboard = /Dashboard: (\S+)/.exec(started.output())?.[1] ?? "";
    const hosted = await place.type(`curl -sS ${dashboard}/v1/service`);
    expect(JSON.parse(hosted.stdout), started.output()).toMatchObject({ sign_up: "first", dashboard_url: dashboard });
    expect(started.output()).toMatch(new RegExp(`Make the first account: ${dashboard}/setup\\?token=\\S{40,}`));
    addresses.add(dashboard);

    // it goes on, and shows the service's log
    await eventually(() => expect(started.output()).toContain("service listens"), { timeout_ms: 30_000 });
    expect(started.child.exitCode, started.output()).toBe(null);
    expect(await started.interrupt("SIGINT"), started.output()).toBe(0);
    expect(started.output()).not.toContain("error:");
    expect(place.processes()).toEqual([]);
  }
  expect(new Set(rows).size).toBe(2);
  // whoever has signed in finds the server again
  expect(addresses.size).toBe(1);
}, 180_000);
