import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { ROOT, type Started, type TestProject } from "@appdb/testkit/test-project";
import { expect } from "vitest";

export interface HostedServer {
  readonly url: string;
  /** The setup link of the first account. */
  readonly setup_link: string;
  readonly started: Started;
}

/** Starts the built server in the project's home and waits until it prints its address. */
export async function startHostedServer(project: TestProject): Promise<HostedServer> {
  const started = project.start(`node '${join(ROOT, "dist", "server.js")}'`);
  return await eventually(
    () => {
      expect(started.child.exitCode, started.output()).toBe(null);
      const url = /^Dashboard: (\S+)$/m.exec(started.output())?.[1];
      const setupLink = /^Make the first account: (\S+)$/m.exec(started.output())?.[1];
      if (url === undefined || setupLink === undefined) throw new Error(started.output());
      return { url, setup_link: setupLink, started };
    },
    { timeout_ms: 60_000 },
  );
}
