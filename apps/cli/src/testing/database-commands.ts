import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { type Answers, type ControlServer, startControlServer } from "./control-server.ts";
import { type ControlWorld, openControlWorld, type RunWith } from "./control-world.ts";

/** Gives each test of a file a project of its own and a control plane that answers as `answers` says. */
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
    /** Runs a command as somebody with an API key. */
    run: (words: string | readonly string[], more: RunWith = {}) =>
      world.run(words, { ...more, env: { SERVICE_API_URL: server.url, SERVICE_API_KEY: "sk_x" } }),
    /** What the way to the control plane had to tell. */
    notes: () => world.notes,
    /** Every request that came. */
    requests: () => server.asked,
    /** Their names. */
    asked: () => server.asked.map(({ name }) => name),
    /** Writes the project's service.toml, with an entry for each database. */
    entry: (...names: string[]) =>
      writeFileSync(
        join(world.project, "service.toml"),
        `[[service.database]]\n${names.map((name) => `[[service.database]]\nname = "${name}"\n`).join("")}`,
      ),
  };
}
