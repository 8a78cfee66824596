import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { DIST, nodeBin, ROOT } from "./paths.mjs";
import { capture } from "./run.mjs";
import { Stop } from "./say.mjs";

/** All inputs of the dashboard's build. */
export const DASHBOARD_SOURCES = [
  "apps/dashboard",
  "packages/contract",
  "package-lock.json",
  "scripts/lib/dashboard.mjs",
];

const DASHBOARD = join(ROOT, "apps", "dashboard");
const BUILT = join(DASHBOARD, "dist");
/** Not served. */
const STAMP = join(DIST, "dashboard.json");
const PACKED = /\.(html|js|css|svg)$/;
/** Below this size, compression saves too little for an additional file. */
const PACKED_FROM_BYTES = 500;

export function hasDashboard() {
  return existsSync(join(BUILT, "index.html"));
}

/**
 * Builds the dashboard into apps/dashboard/dist, with compressed copies of its files, unless it was built from sources
 * with this hash.
 */
export function buildDashboard(sources) {
  const stamp = existsSync(STAMP) ? JSON.parse(readFileSync(STAMP, "utf8")) : undefined;
  if (hasDashboard() && stamp?.sources === sources) return;
  // a separate process, because vite changes NODE_ENV of its process
  const args = [nodeBin("vite", "vite"), "build", "--logLevel", "warn"];
  const vite = capture(process.execPath, args, { cwd: DASHBOARD });
  if (vite.code !== 0) {
    throw new Stop(`The dashboard could not be built:\n${(vite.stdout + vite.stderr).trim()}`, "npm run check");
  }
  for (const file of filesOf(BUILT)) pack(file);
  mkdirSync(dirname(STAMP), { recursive: true });
  writeFileSync(STAMP, JSON.stringify({ sources }));
}

function pack(file) {
  const bytes = readFileSync(file);
  if (!PACKED.test(file) || bytes.length < PACKED_FROM_BYTES) return;
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }));
  writeFileSync(`${file}.br`, brotliCompressSync(bytes));
}

function filesOf(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesOf(join(folder, entry.name)) : [join(folder, entry.name)],
  );
}
