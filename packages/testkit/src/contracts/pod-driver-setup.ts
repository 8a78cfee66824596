import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LocalDriver, LocalDriverInput } from "@appdb/pods/driver/local-driver";
import type { PodDriver, PodSpec } from "@appdb/pods/driver/pod-driver";
import type { PodTask } from "@appdb/pods/driver/task-runner";
import { Secret } from "@appdb/system/secret";
import { expect } from "vitest";
import { eventually } from "../eventually.ts";
import { createSilentLog } from "../silent-log.ts";
import { createTestLayout, podNameOf, volumeOf } from "./test-layout.ts";

/** A driver under test, and its capabilities. */
export interface PodDriverUnderTest {
  readonly name: PodDriver["name"];
  /** Module and name of its factory, for separate processes that the suite kills:
   *  `@appdb/pods/driver/process-pods`, `createProcessPods`. */
  readonly module: string;
  readonly factory: string;
  /** Members that the factory takes besides `LocalDriverInput`'s; they must pass through JSON. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Ends processes that left their session, their parent and their environment. */
  readonly ends_bare_daemons: boolean;
  /** Delays of kills: after the owner's first step, spread over the duration of a start. */
  readonly kill_delays_ms: readonly number[];
  readonly bounds_memory: boolean;
  readonly bounds_tasks: boolean;
}

/** The instructions for the test program (pod-program.mjs). */
export interface Told {
  readonly ignores_term?: boolean;
  readonly stop_code?: number;
  readonly exit_code?: number;
  readonly child?: boolean;
  readonly session?: boolean;
  readonly daemon?: "kept" | "bare";
  readonly prints?: string;
  readonly allocates_mb?: number;
  readonly secret?: string;
  /** Paths to replace by links, with their targets. */
  readonly links?: readonly (readonly [path: string, target: string])[];
}

export interface PodProgramReport {
  readonly pid: number;
  readonly input_digest: string;
  readonly env: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
}

const PROGRAM = fileURLToPath(new URL("./pod-program.mjs", import.meta.url));

/** Folders and specs of one test. Disposing of it ends every process with its mark. */
export interface PodSetup extends AsyncDisposable {
  readonly folder: string;
  /** In the arguments of each process that the test's pods start. */
  readonly mark: string;
  readonly input: LocalDriverInput;
  open(): Promise<LocalDriver>;
  spec(podInput?: Told, changes?: Partial<PodSpec>): PodSpec;
  task(changes: Partial<PodTask> & Pick<PodTask, "args">): PodTask;
  /** The test program's report after it has read its input. */
  ready(spec: PodSpec): Promise<PodProgramReport>;
  /** Pids of living Node processes with the test's mark or another text, without shells or wrappers. */
  programs(mark?: string): number[];
  /** Waits for this number of processes. A process looks like its parent until it has executed its own program. */
  expectPrograms(count: number, mark?: string): Promise<void>;
}

/** Makes the folders of a test. */
export function openPodSetup(driver: PodDriverUnderTest): PodSetup {
  const folder = mkdtempSync(join(tmpdir(), "pods-"));
  const mark = `mark-${randomBytes(8).toString("hex")}`;
  const layout = createTestLayout(folder);
  const input: LocalDriverInput = {
    folder: join(folder, "pods"),
    layout,
    program: { file: PROGRAM, node_options: [] },
    log: createSilentLog(),
    clock: { now: Date.now },
  };
  const opened: LocalDriver[] = [];

  function spec(podInput: Told = {}, changes: Partial<PodSpec> = {}): PodSpec {
    const id = changes.id ?? "db-1";
    const labels = { organization_id: "org-1", database_id: id, kind: "database" } as const;
    const volumes = [
      volumeOf(layout, { kind: "data", database_id: id }, "write"),
      volumeOf(layout, { kind: "logs", database_id: id, service_id: null }, "write"),
      volumeOf(layout, { kind: "sockets", pod: { id, database_id: id } }, "write"),
    ];
    const [, logFolder, runFolder] = volumes.map(({ target }) => target);
    return {
      id,
      labels,
      args: ["pod.js", mark],
      input: new Secret(JSON.stringify({ ...podInput, mark, run_folder: runFolder, log_folder: logFolder })),
      image: null,
      volumes,
      ports: ["api"],
      limits: { cpu: 1, memory_mb: 256, tasks: 200 },
      network: "none",
      ...changes,
    };
  }

  return {
    folder,
    mark,
    input,
    spec,
    async open() {
      const module: unknown = await import(driver.module);
      const pods = await (module as Record<string, (input: object) => LocalDriver | Promise<LocalDriver>>)[
        driver.factory
      ]?.({
        ...input,
        ...driver.options,
      });
      if (pods === undefined) throw new Error(`${driver.module} has no ${driver.factory}`);
      opened.push(pods);
      return pods;
    },
    task(changes) {
      const work = join(folder, "work");
      mkdirSync(work, { recursive: true, mode: 0o700 });
      return {
        id: "task-1",
        labels: { organization_id: "org-1", database_id: "db-1", kind: "database" },
        program: process.execPath,
        env: { PATH: "/usr/bin:/bin" },
        cwd: work,
        folders: [{ path: work, mode: "write" }],
        limits: { cpu: 1, memory_mb: 256, tasks: 100, timeout_ms: 30_000, disk_bytes: 100_000_000, files: 10_000 },
        network: "none",
        allowed_hosts: [],
        onLine: () => undefined,
        ...changes,
      };
    },
    ready: (of) =>
      eventually(
        () =>
          JSON.parse(
            readFileSync(join(layout.folder({ kind: "sockets", pod: podNameOf(of) }), "ready.json"), "utf8"),
          ) as PodProgramReport,
        {
          timeout_ms: 20_000,
        },
      ),
    programs: (text = mark) => findMarked(text),
    expectPrograms: (count, text = mark) => eventually(() => expect(findMarked(text)).toHaveLength(count)),
    async [Symbol.asyncDispose]() {
      const last = opened.at(-1);
      for (const pod of (await last?.list({})) ?? []) {
        await last?.stop(pod.id, 0);
        await last?.forget(podNameOf(pod));
      }
      for (const pods of opened) await pods[Symbol.asyncDispose]();
      await eventually(() => {
        const left = findMarked(mark, false);
        for (const pid of left) killIfRunning(pid);
        if (left.length > 0) throw new Error(`Processes of the test do not end: ${left.join(", ")}.`);
      });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function killIfRunning(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Processes with a text in their arguments; by default only Node. */
function findMarked(mark: string, isNodeOnly = true): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    try {
      const [program, ...args] = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      const isMarked = args.includes(mark) && (!isNodeOnly || program === process.execPath);
      return isMarked ? [Number(name)] : [];
    } catch {
      // It ended between two reads.
      return [];
    }
  });
}
