import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./paths.mjs";
import { capture } from "./run.mjs";

/** Any valid limits. */
const LIMITS = {
  workers: 1,
  function_timeout_ms: 1_000,
  worker_memory_mb: 512,
  body_bytes: 1_000,
  upload_bytes: 1,
  insert_rows: 1,
  connections: 2,
  statement_timeout_ms: 1_000,
  result_rows: 1,
  result_bytes: 1_000,
  compute_bytes: 1_000,
  made_bytes: 1_000,
  rows_in_flight: 1,
  route_requests: 1,
  live_queries: 1,
  live_bytes: 1_000,
  idempotency_keep_s: 60,
  background_jobs: 1,
  background_at_once: 1,
};

/** The same for the modules that a server program loads before it reads its settings, which are refused here. */
export function keepStartCompiled(bundle) {
  const home = mkdtempSync(join(tmpdir(), "appdb-build-"));
  try {
    const program = join(ROOT, "scripts", "packaging", "keep-compiled.cjs");
    const env = { PATH: process.env.PATH, SERVICE_HOME: home, SERVICE_ROLES: "none" };
    const { stderr, stdout } = capture(process.execPath, [program, bundle], { env });
    if (!`${stdout}${stderr}`.includes("SERVICE_ROLES")) throw new Error(`The program did not start: ${stderr}`);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/**
 * The same of what the command loads to print its settings, then to answer that a project has no such file: only the
 * first one loads `cli-more.js`, and the second one's code of the other files is kept.
 */
export function keepCommandCompiled(bundle) {
  const folder = mkdtempSync(join(tmpdir(), "appdb-build-"));
  try {
    writeFileSync(join(folder, "service.toml"), "[service]\n");
    const program = join(ROOT, "scripts", "packaging", "keep-compiled.cjs");
    const env = { PATH: process.env.PATH, SERVICE_HOME: join(folder, "home") };
    const run = (...words) => {
      const { stderr, stdout } = capture(process.execPath, [program, bundle, ...words], { cwd: folder, env });
      return `${stdout}${stderr}`;
    };
    for (const [words, answer] of [
      [["config", "--json"], env.SERVICE_HOME],
      [["schema", "update", "none.py", "main"], "none.py"],
    ]) {
      const printed = run(...words);
      if (!printed.includes(answer)) throw new Error(`The command did not start: ${printed}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Stores Node's compiled code of the pod's bundle from the start of a database pod, for this version of Node. The pod
 * finds no PostgreSQL and ends, after it has loaded everything that a start needs.
 */
export function keepPodCompiled(bundle) {
  const folder = mkdtempSync(join(tmpdir(), "appdb-build-"));
  const [dataFolder, templateFolder, postgresBin, runFolder, logFolder, servicesFolder, filesFolder] = [
    "data",
    "template",
    "bin",
    "run",
    "log",
    "services",
    "files",
  ].map((name) => join(folder, name));
  for (const path of [runFolder, logFolder, filesFolder]) mkdirSync(path, { mode: 0o700 });
  const spec = {
    role: "database",
    database_id: "build",
    uri: "cloud://build:build",
    token: "build",
    link_token: "build",
    notices: [],
    data_folder: dataFolder,
    template_folder: templateFolder,
    postgres_bin: postgresBin,
    run_folder: runFolder,
    log_folder: logFolder,
    services_folder: servicesFolder,
    files_folder: filesFolder,
    media: { folder: join(folder, "media"), input: "home", output: "home", sources: [], may_reach_private: false },
    resources: { cpu: 1, memory_mb: 1024, disk_gb: 1, workers: 1 },
    limits: LIMITS,
    runtime: {
      python: process.execPath,
      python_source: "build",
      project_root: filesFolder,
      library_paths: [],
      env: {},
    },
  };
  try {
    const program = join(ROOT, "scripts", "packaging", "keep-compiled.cjs");
    const stdio = ["pipe", "pipe", "pipe"];
    const { stderr } = capture(process.execPath, [program, bundle, "database"], { stdio, input: JSON.stringify(spec) });
    if (stderr.includes("The pod's spec is invalid")) throw new Error(`The pod's spec has another format: ${stderr}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
