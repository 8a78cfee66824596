import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { bundle } from "./bundle.mjs";
import { buildDashboard, DASHBOARD_SOURCES, hasDashboard } from "./dashboard.mjs";
import { DIST, ROOT, TOOLS_PYTHON } from "./paths.mjs";
import { capture } from "./run.mjs";
import { Stop, say } from "./say.mjs";

const STAMP = join(DIST, "build.json");
/** All inputs of `dist/`. */
const SOURCES = ["packages", "apps", "python", "scripts", "examples", "package-lock.json", "README.md", "LICENSE"];
/** The sources of the programs: the wheel and its examples do not change what a program understands. */
const PROGRAM_SOURCES = ["packages", "apps/cli", "apps/runtime", "apps/server"];
const PASSED_OVER = /(^|\/)(node_modules|dist|tests|__pycache__|\.pytest_cache|testkit)(\/|$)|\.test\.ts$|\.pyc$/;

/** Builds `dist/`, with the bundled programs and the wheels, and the dashboard and compiled Python next to their sources. */
export async function build() {
  const hash = hashSources(SOURCES);
  compileLibrary();
  buildDashboard(hashSources(DASHBOARD_SOURCES));
  await bundle(DIST, hashSources(PROGRAM_SOURCES).slice(0, 12)).catch((error) => {
    // esbuild has printed file, line and reason
    throw new Stop(
      `The programs could not be bundled: ${error.errors?.length ?? 1} problem(s), see above.`,
      "npm run check",
    );
  });
  const wheel = capture(TOOLS_PYTHON, [join(ROOT, "scripts", "build-wheel.py"), ROOT, DIST, DIST]);
  if (wheel.code !== 0) throw new Stop(`The wheel could not be built:\n${wheel.stderr.trimEnd()}`);
  writeFileSync(STAMP, JSON.stringify({ sources: hash }));
  return wheel.stdout.trim().split("\n");
}

/** Workers of hosted databases keep no compiled code: without this, each compiles the library again. */
function compileLibrary() {
  const library = join(ROOT, "python", "appdb");
  // by content: an edit within the second of another one counts, too
  const args = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash", library];
  const compiled = capture(TOOLS_PYTHON, args);
  if (compiled.code !== 0) throw new Stop(`The library could not be compiled:\n${compiled.stdout.trimEnd()}`);
}

/** Builds unless `dist/` matches the current sources. */
export async function ensureBuilt() {
  const stamp = existsSync(STAMP) ? JSON.parse(readFileSync(STAMP, "utf8")) : undefined;
  if (stamp?.sources === hashSources(SOURCES) && hasDashboard()) return;
  say("Building the command and the service ...");
  await build();
}

function hashSources(sources) {
  const hash = createHash("sha256");
  for (const source of sources) {
    for (const file of filesOf(join(ROOT, source))) {
      hash.update(relative(ROOT, file)).update("\0").update(readFileSync(file)).update("\0");
    }
  }
  return hash.digest("hex");
}

function filesOf(path) {
  if (!existsSync(path) || PASSED_OVER.test(relative(ROOT, path))) return [];
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesOf(join(path, name)));
}
