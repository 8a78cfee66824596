import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { localMediaPlace } from "@appdb/contract/media-place";
import type { DatabasePodSpec } from "@appdb/contract/pod-spec";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { resolveRuntime } from "@appdb/python-runtime/images/resolve-runtime";
import { locateTools, requirePostgresBin } from "@appdb/system/tools/locate-tools";
import { openStartedPods, type StartedPod } from "./started-pods.ts";

/** Folders of one hosted database with real pods. For tests only. */
export interface PodHarness extends AsyncDisposable {
  readonly folder: string;
  spec(more?: Partial<DatabasePodSpec>): Promise<DatabasePodSpec>;
  /** Creates a tree of project files and returns its digest. */
  putTree(files: Record<string, string>): string;
  start(spec: DatabasePodSpec | string, env?: Record<string, string>): StartedPod;
}

/** Opens a harness. Disposing it ends every process of its pods and removes its folders. */
export function openPodHarness(): PodHarness {
  const folder = mkdtempSync(join(tmpdir(), "appdb-pod-"));
  const runFolder = mkdtempSync(join(tmpdir(), "pod-"));
  const token = randomBytes(24).toString("base64url");
  const pods = openStartedPods();

  async function spec(more: Partial<DatabasePodSpec> = {}): Promise<DatabasePodSpec> {
    const tools = locateTools({ program_url: import.meta.url, postgres_bin: undefined });
    const home = join(folder, "home");
    // biome-ignore lint/style/noProcessEnv: a test passes on its environment
    const env = { PATH: process.env.PATH ?? "", HOME: folder };
    mkdirSync(join(folder, "empty"), { recursive: true });
    const runtime = await resolveRuntime({ project_root: join(folder, "empty"), python: undefined, env, home, tools });
    return {
      role: "database",
      database_id: "0190a0a0-0000-7000-8000-000000000000",
      uri: "cloud://acme:main",
      data_folder: join(folder, "data"),
      template_folder: join(folder, "template", "18"),
      postgres_bin: requirePostgresBin(tools),
      run_folder: runFolder,
      log_folder: join(folder, "log"),
      services_folder: join(folder, "services"),
      token,
      resources: { cpu: 1, memory_mb: 512, disk_gb: 1, workers: 1 },
      limits: DEFAULT_LIMITS,
      runtime,
      files_folder: join(folder, "files"),
      media: localMediaPlace(join(folder, "media"), {}),
      notices: [],
      ...more,
    };
  }

  function putTree(files: Record<string, string>): string {
    const digest = createHash("sha256").update(JSON.stringify(files)).digest("hex");
    for (const [path, content] of Object.entries(files)) {
      const file = join(folder, "files", digest, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
    return digest;
  }

  function start(input: DatabasePodSpec | string, env: Record<string, string> = {}): StartedPod {
    return pods.start({ role: "database", run_folder: runFolder, token, input, env });
  }

  return {
    folder,
    spec,
    putTree,
    start,
    [Symbol.asyncDispose]: async () => {
      await pods[Symbol.asyncDispose]();
      for (const path of [folder, runFolder]) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
