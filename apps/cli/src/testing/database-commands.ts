import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { type Answers, type ControlServer, startControlServer } from "./control-server.ts";
import { type ControlWorld, openControlWorld, type RunWith } from "./control-world.ts";

/** Gives each test of a file its own project and a control plane with these `answers`. */
export function useDatabaseCommands() {
  let world: ControlWorld;
  let server: ControlServer;
  const answers: { -readonly [Name in keyof Answers]: Answers[Name] } = {};

  beforeEach(async () => {
    world = openControlWorld();
    for (const name of Object.keys(answers)) delete answers[name as keyof Answers];
    server = await startControlServer({ answers });
  });
  afterEach(async () => {
    world[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
  });

  return {
    answers,
    /** Runs a command with an API key. */
    run: (words: string | readonly string[], more: RunWith = {}) =>
      world.run(words, { ...more, env: { SERVICE_API_URL: server.url, SERVICE_API_KEY: "sk_x" } }),
    /** Messages of the control plane access. */
    notes: () => world.notes,
    /** All requests. */
    requests: () => server.asked,
    /** Names of the requests. */
    asked: () => server.asked.map(({ name }) => name),
    /** Writes the project's service.toml with an entry for each database. */
    entry: (...names: string[]) =>
      writeFileSync(
        join(world.project, "service.toml"),
        `[[service.database]]\n${names.map((name) => `[[service.database]]\nname = "${name}"\n`).join("")}`,
      ),
  };
}
