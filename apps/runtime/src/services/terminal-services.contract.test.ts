import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LocalClient } from "@appdb/contract/clients/local-client";
import { HOME_PATHS } from "@appdb/contract/home";
import type { App } from "@appdb/contract/routes/local";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestHome } from "../testing/test-home.ts";

const TIMEOUT = 180_000;
const tested = openTestHome();
const commands: ChildProcess[] = [];
let client: LocalClient;
let app: App;

beforeAll(async () => {
  client = await tested.startDaemon();
  app = await tested.readApp("main");
  await client.call("schemaApply", { body: { ...app, catalog_version: 0, allow_destructive: false } });
}, TIMEOUT);

afterAll(async () => {
  for (const command of commands) command.kill("SIGKILL");
  await tested[Symbol.asyncDispose]();
}, TIMEOUT);

test("a service of cli service run is refused to other projects while the command runs", {
  timeout: TIMEOUT,
}, async () => {
  const folder = join(tested.home, HOME_PATHS.terminals);
  const elsewhere = { ...app, runtime: { ...app.runtime, project_root: "/home/ada/Birds-2" } };
  const run = (of: App, { pid = 0 }: ChildProcess) =>
    client.call("openTarget", { body: { ...of, services: ["ingest"], pid } });
  const update = { ...elsewhere, service: null, port: null };
  const conflict = (verb: string) => ({
    code: "service_conflict",
    message: `The service main/ingest belongs to app.py of ${tested.project_root}, which serves it in a terminal; app.py of /home/ada/Birds-2 claims the same name.`,
    hint: expect.stringContaining(`cli schema update app.py birds_2 && cli service ${verb} app.py birds_2 `),
  });
  const [first, second] = [await startCommand(), await startCommand()];
  await run(app, first);
  await run(app, second);
  await expect(run(elsewhere, second)).rejects.toMatchObject(conflict("run"));
  await expect(client.call("servicePlan", { body: update })).rejects.toMatchObject(conflict("update"));
  await expect(client.call("serviceApply", { body: { ...update, allow_destructive: true } })).rejects.toMatchObject(
    conflict("update"),
  );
  await end(first);
  await expect(run(elsewhere, second)).rejects.toMatchObject(conflict("run"));
  await end(second);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "1.json"), "{");
  const third = await startCommand();
  await run(elsewhere, third);
  expect(readdirSync(folder)).toEqual([`${third.pid}.json`]);
  await expect(run(app, await startCommand())).rejects.toMatchObject({ code: "service_conflict" });
});

/** Stands for a command `cli service run`. */
async function startCommand(): Promise<ChildProcess> {
  const command = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  commands.push(command);
  await once(command, "spawn");
  return command;
}

async function end(command: ChildProcess): Promise<void> {
  const ended = once(command, "exit");
  command.kill("SIGKILL");
  await ended;
}
