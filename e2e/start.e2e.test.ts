import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { openTestProject, ROOT, type Started } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { openBrowser, openWindow } from "./support/browser.ts";
import { NO_BROWSER } from "./support/dashboard.ts";

const START = join(ROOT, "scripts", "start.mjs");

/** How each run ends, with the expected exit status. */
const STOPS: readonly (readonly [
  run: string,
  stop: (started: Started, pids: readonly number[]) => Promise<unknown>,
])[] = [
  ["first", async (started) => expect(await started.interrupt("SIGINT"), started.output()).toBe(0)],
  [
    "second",
    async (started, pids) => {
      // a supervisor that ends all processes reaches the server first, and its log reader loses the connection
      const server = pids.find((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("server.js"));
      process.kill(server ?? 0, "SIGTERM");
      await eventually(() => expect(started.child.exitCode, started.output()).toBe(0), { timeout_ms: 60_000 });
    },
  ],
  [
    "by npm",
    async (started) => {
      process.kill(started.child.pid ?? 0, "SIGTERM");
      await eventually(() => expect(started.output()).toContain("Stopping the services"), { timeout_ms: 60_000 });
      await once(started.child, "close");
      expect(started.child.signalCode ?? started.child.exitCode).toBe("SIGTERM");
    },
  ],
];

test("npm start deploys the quickstart, finds it again, and each way to stop it stops everything", async () => {
  await using project = openTestProject();
  const rows: string[] = [];
  const addresses = new Set<string>();
  for (const [run, stop] of STOPS) {
    const started = project.start(run === "by npm" ? `npm --prefix '${ROOT}' start` : `node '${START}'`);
    const line = await eventually(
      () => {
        expect(started.child.exitCode, started.output()).toBe(null);
        const curl = /^ +(curl -X POST .*)$/m.exec(started.output())?.[1];
        expect(curl, started.output()).toBeDefined();
        return curl ?? "";
      },
      { timeout_ms: 90_000 },
    );
    // npm start itself inserted the first one
    const own = /A row was inserted through the gateway and answered:\s+(\{.*\})/.exec(started.output())?.[1] ?? "";
    const inserted = await project.type(line);
    expect(inserted.code, `${run}: ${inserted.stderr}\n${started.output()}`).toBe(0);
    for (const answer of [own, inserted.stdout]) {
      expect(JSON.parse(answer), run).toMatchObject({ title_upper: "HELLO", summary: "Hello" });
      rows.push(JSON.parse(answer).id);
    }
    expect(started.output().includes("$ cli service update"), run).toBe(run === "first");
    const endpoint = /curl -X POST (\S+)\/docs/.exec(line)?.[1] ?? "";
    // the command finds the server from an unconfigured terminal
    expect(started.output()).toContain(`    export SERVICE_HOME="${project.home}"\n`);
    const refused = await project.type(`curl -sS -X POST ${endpoint}/docs -d '{}'`);
    expect(JSON.parse(refused.stdout), run).toMatchObject({ status: 401 });

    const dashboard = /^ {4}(http:\/\/127\.0\.0\.1:\d+)$/m.exec(started.output())?.[1] ?? "";
    const hosted = await project.type(`curl -sS ${dashboard}/v1/service`);
    expect(JSON.parse(hosted.stdout), started.output()).toMatchObject({ dashboard_url: dashboard });
    addresses.add(`${dashboard} ${endpoint}`);
    if (run === "first" && !NO_BROWSER) {
      const key = (await project.type(`printf %s "${/X-api-key: (\$\([^)]*\))/.exec(line)?.[1]}"`)).stdout.trim();
      rows.push(await callInBrowser(dashboard, started.output(), project.folder, { endpoint, key }));
    }

    expect(started.child.exitCode, started.output()).toBe(null);
    await stop(started, project.processes());
    expect(started.output()).not.toContain("error:");
    expect(started.output()).not.toMatch(/sk_[a-z0-9]{12}_/);
    expect(project.processes()).toEqual([]);
  }
  expect(new Set(rows).size).toBe(NO_BROWSER ? 6 : 7);
  // signed-in users and clients find the server and the service again
  expect(addresses.size).toBe(1);
}, 240_000);

/**
 * Follows the printed browser steps: signs in, finds the service and calls it there, then calls its routes at its own
 * address with the key. Returns the id of the row.
 */
async function callInBrowser(
  dashboard: string,
  printed: string,
  folder: string,
  { endpoint, key }: { readonly endpoint: string; readonly key: string },
): Promise<string> {
  const [, email = "", file = ""] = /in a browser, as (\S+) with the password in (.+):$/m.exec(printed) ?? [];
  await using browser = await openBrowser();
  const { page, complaints } = await openWindow(browser);
  await page.goto(dashboard);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(readFileSync(resolve(folder, file), "utf8"));
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("main").getByRole("link", { name: "demo" }).first().click();
  await page.getByRole("link", { name: "Call ingest" }).click();
  await page.getByRole("button", { name: "Create a key for one hour" }).click();
  await page.getByText("may call only this service").waitFor();
  await page.getByLabel("title", { exact: true }).fill("Hello");
  await page.getByLabel("body", { exact: true }).fill("World");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  const answer = page.getByRole("region", { name: "Answer" });
  await answer.getByText("Status 200").waitFor();
  const row = JSON.parse((await answer.locator("pre").textContent()) ?? "");
  expect(row).toMatchObject({ title_upper: "HELLO" });
  await page.goto(`${endpoint}/docs`);
  await page.getByLabel("API key").fill(key);
  await page.keyboard.press("Enter");
  await page.getByText("/docs", { exact: true }).first().waitFor();
  expect(page.url()).toBe(`${endpoint}/docs`);
  expect(complaints).toEqual([]);
  return row.id;
}
