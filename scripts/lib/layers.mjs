// Allowed imports between folders of a package. Biome's rules cover imports between packages; its overrides do not
// merge, so a rule for each folder would have to repeat all rules above it. `scripts/layers.test.ts` checks every
// import against this table.
import { posix } from "node:path";

/**
 * The folders of a package, lowest layer first. A file may import its own folder and lower layers. Folders of one layer
 * do not import each other. `.` means the package's own files.
 */
export const LAYERS = {
  "packages/contract/src": [["."], ["routes"], ["control", "clients"]],
  "packages/engine/src": [
    [".", "sql", "values", "batching"],
    ["kinds", "answers"],
    ["expressions"],
    ["catalog"],
    ["bound-queries"],
    ["views"],
    ["conditions"],
    ["compute"],
    ["rows"],
    ["idempotency"],
    ["statements"],
    ["write"],
    ["query-plans"],
    ["queries"],
    ["jobs", "live", "data-queries"],
    ["routes", "schema", "media"],
    ["openapi"],
    ["route-kinds", "table-writes"],
    ["background", "services"],
    ["endpoints"],
    ["table-changes"],
  ],
  "packages/system/src": [
    [".", "files", "network", "tools"],
    ["processes", "blobs", "keys"],
    ["traces", "control"],
  ],
  "packages/postgres/src": [["client", "migrations"], ["cluster"], ["homes"]],
  "packages/pods/src": [["driver", "link"], ["sandbox"], ["."]],
  "packages/python-runtime/src": [["environments", "workers"], ["documents", "handlers"], ["images"]],
  "apps/runtime/src": [
    ["media", "disks"],
    ["code", "config"],
    ["databases", "http"],
    ["data-reads", "data-writes"],
    ["daemon"],
    ["services"],
    ["composition"],
    ["api"],
    ["database-api", "service-api"],
    ["roles"],
    ["."],
  ],
  "apps/dashboard/src": [["api"], ["ui"], ["features"], ["routes"], ["."]],
  "apps/server/src": [
    ["config"],
    ["lifecycle", "database"],
    ["queue"],
    ["audit"],
    ["secrets", "operations"],
    ["storage"],
    ["health"],
    ["pods"],
    ["edge"],
    ["identity"],
    ["requests"],
    ["control-plane"],
    ["operator", "reconciler", "http", "gateway"],
    ["gateway-process"],
    ["."],
  ],
};

/** Folders that must not import each other although their layers would allow it. */
export const APART = {
  "apps/server/src": {
    gateway: ["identity", "requests", "control-plane"],
    "gateway-process": ["identity", "requests", "control-plane", "operator", "reconciler", "http"],
  },
};

const IMPORT = /(?:^|\n)\s*(?:import|export)\s[^;"']*?from\s+"(\.{1,2}\/[^"]+)"|\bimport\(\s*"(\.{1,2}\/[^"]+)"\s*\)/g;

/** Relative imports of a file as paths from the root, including type imports. */
export function importsOf(path, text) {
  return [...text.matchAll(IMPORT)].map(([, ofFrom, ofCall]) =>
    posix.normalize(posix.join(posix.dirname(path), ofFrom ?? ofCall)),
  );
}

/** The table's folder of a path. Undefined outside the package. */
function folderOf(root, path) {
  if (!path.startsWith(`${root}/`)) return undefined;
  const [first, ...rest] = path.slice(root.length + 1).split("/");
  return rest.length === 0 ? "." : first;
}

/** Finds imports that violate the table. `files` has the text of each file by its path from the root. */
export function findLayerViolations(files) {
  const found = [];
  for (const [root, layers] of Object.entries(LAYERS)) {
    const levels = new Map(layers.flatMap((folders, level) => folders.map((folder) => [folder, level])));
    for (const [path, text] of files) {
      const from = folderOf(root, path);
      if (from === undefined || from === "testing") continue;
      if (!levels.has(from)) {
        found.push(`${path}: the folder ${from} has no layer`);
        continue;
      }
      for (const imported of importsOf(path, text)) {
        const to = folderOf(root, imported);
        if (to === undefined || to === from) continue;
        const isBelow = (levels.get(to) ?? Number.POSITIVE_INFINITY) < levels.get(from);
        if (!isBelow || APART[root]?.[from]?.includes(to)) found.push(`${path}: ${from} does not import ${to}`);
      }
    }
  }
  return found;
}
