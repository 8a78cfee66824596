import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { DIST, nodeBin, ROOT } from "./paths.mjs";
import { capture } from "./run.mjs";
import { Stop } from "./say.mjs";

/** Everything that decides what the dashboard becomes. */
export const DASHBOARD_SOURCES = [
  "apps/dashboard",
  "packages/contract",
  "package-lock.json",
  "scripts/lib/dashboard.mjs",
];

const DASHBOARD = join(ROOT, "apps", "dashboard");
const BUILT = join(DASHBOARD, "dist");
/** Not among what is served. */
const STAMP = join(DIST, "dashboard.json");
const PACKED = /\.(html|js|css|svg)$/;
/** Below this a packed file is hardly smaller, and one more to open. */
const PACKED_FROM_BYTES = 500;

export function hasDashboard() {
  return existsSync(join(BUILT, "index.html"));
}

/** Builds the dashboard into apps/dashboard/dist, with packed copies of its files beside them, unless it was made from
 *  sources of this hash. */
export function buildDashboard(sources) {
  const stamp = existsSync(STAMP) ? JSON.parse(readFileSync(STAMP, "utf8")) : undefined;
  if (hasDashboard() && stamp?.sources === sources) return;
  // a process of its own: it takes NODE_ENV for its own, which what runs next would get, too
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
