import { afterEach, beforeEach } from "vitest";
import type { Answers } from "./control-server.ts";
import { type HostedProject, openHostedProject } from "./test-project.ts";

/** Gives each test of a file its own project and a control plane with these `answers`. */
export function useDatabaseCommands() {
  let project: HostedProject;
  const answers: { -readonly [Name in keyof Answers]: Answers[Name] } = {};

  beforeEach(async () => {
    for (const name of Object.keys(answers)) delete answers[name as keyof Answers];
    project = await openHostedProject({ answers });
  });
  afterEach(() => project[Symbol.asyncDispose]());

  return {
    answers,
    run: (...input: Parameters<HostedProject["run"]>) => project.run(...input),
    /** Messages of the control plane access. */
    notes: () => project.notes,
    /** All requests. */
    requests: () => project.server.asked,
    /** Names of the requests. */
    asked: () => project.asked(),
    /** Writes the project's service.toml with an entry for each database. */
    entry: (...names: string[]) =>
      project.write({
        "service.toml": `[[service.database]]\n${names.map((name) => `[[service.database]]\nname = "${name}"\n`).join("")}`,
      }),
  };
}
