import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { ROOT, type TestProject } from "@appdb/testkit/test-project";
import { expect } from "vitest";

/** The built server of a project. A test pauses it at a reconciler step, kills it, and restarts it on the same port. */
export interface HeldServer extends AsyncDisposable {
  readonly url: string;
  /** The setup link of the first account from the first start. */
  readonly setup_link: string;
  readonly pid: number;
  /** Output of all its processes so far. */
  output(): string;
  /** Pauses the server when any database reaches this step; null cancels that. */
  hold(step: string | null): void;
  /** The step at which it is paused; undefined while it works. */
  held(): string | undefined;
  go(): void;
  /** Kills it like a crash; its pods and PostgreSQL stay. */
  kill(): Promise<void>;
  /** Restarts it on its home. */
  start(): Promise<void>;
}

const START_MS = 60_000;
const STOP_MS = 30_000;
const NAME = "held-server";

/** Bundles the server with the test hooks next to the built programs, from which it starts its pods. */
export function bundleHeldServer(): void {
  const program = join(ROOT, "scripts", "bundle-test-server.mjs");
  execFileSync(process.execPath, [program, NAME, `apps/server/src/testing/${NAME}.ts`], { stdio: "inherit" });
}

export async function startHeldServer(project: TestProject): Promise<HeldServer> {
  let output = "";
  let child: ChildProcess | undefined;
  let held: string | undefined;
  const start = async () => {
    held = undefined;
    const from = output.length;
    const one = spawn(process.execPath, [join(ROOT, "dist", `${NAME}.js`)], {
      cwd: project.folder,
      env: project.env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    child = one;
    const hear = (data: Buffer) => {
      output += data.toString();
    };
    one.stdout?.on("data", hear);
    one.stderr?.on("data", hear);
    one.on("message", (told: { readonly held: string }) => {
      held = told.held;
    });
    await eventually(
      () => {
        const said = output.slice(from);
        expect(one.exitCode ?? one.signalCode, said).toBe(null);
        expect(said).toMatch(/^Dashboard: (\S+)$/m);
      },
      { timeout_ms: START_MS },
    );
  };
  const end = async (signal: NodeJS.Signals) => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill(signal);
    const late = setTimeout(() => child?.kill("SIGKILL"), STOP_MS);
    await exited;
    clearTimeout(late);
  };
  await start();
  const printed = (expression: RegExp) => expression.exec(output)?.[1] ?? "";
  return {
    url: printed(/^Dashboard: (\S+)$/m),
    setup_link: printed(/^Make the first account: (\S+)$/m),
    get pid() {
      return child?.pid ?? 0;
    },
    output: () => output,
    hold: (step) => void child?.send({ hold: step }),
    held: () => held,
    go: () => {
      held = undefined;
      if (child?.connected === true) child.send({ hold: null, go: true });
    },
    kill: () => end("SIGKILL"),
    start,
    [Symbol.asyncDispose]: () => end("SIGTERM"),
  };
}
