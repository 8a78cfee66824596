import type { Manifest } from "@appdb/contract/manifest";
import type { PlanOp } from "@appdb/contract/plan";
import type { Runtime } from "@appdb/contract/routes/local";
import { op } from "./compare-routes.ts";

const MOST_NAMES = 5;

/**
 * Variables that tell of the terminal, not of the application: they differ between two commands of one person, and a
 * service need not restart for them.
 */
const TERMINAL =
  /^(_|PWD|OLDPWD|SHLVL|TERM|TERM_.*|COLORTERM|COLUMNS|LINES|DISPLAY|WINDOWID|WAYLAND_.*|SSH_.*|XDG_.*|DBUS_.*|VSCODE_.*|TMUX.*|STY|WINDOW|LS_COLORS|PS[1-4]|PROMPT.*|HIST.*|INVOCATION_ID|JOURNAL_STREAM|GPG_.*|npm_.*|NODE|INIT_CWD|EDITOR|VISUAL|PAGER|LESS.*|NO_COLOR|FORCE_COLOR|ITERM_.*|KONSOLE_.*|GNOME_.*|VTE_.*|WT_.*|CI_JOB_.*)$/;

/** What the code of a service would run on from now on: files that the application imports, Python, environment. */
export function compareRuntimes(
  before: { manifest: Manifest; runtime: Runtime },
  after: { manifest: Manifest; runtime: Runtime },
): PlanOp[] {
  const ops: PlanOp[] = [];
  const files = compareFiles(before.manifest, after.manifest);
  if (files.length > 0) ops.push({ ...op("alter", "project", "additive", list(files)), details: { files } });
  const python = comparePython(before, after);
  if (python !== undefined)
    ops.push({ ...op("alter", "project", "additive", python), details: { python: after.runtime.python } });
  const variables = compareEnvironments(before.runtime.env, after.runtime.env);
  if (variables.length > 0) {
    // names only: values are secrets
    ops.push({ ...op("alter", "project", "additive", `environment: ${list(variables)}`), details: { variables } });
  }
  const { workers } = after.runtime;
  if (workers !== before.runtime.workers) {
    const text = workers === undefined ? "as many workers as services have" : `${workers} workers`;
    ops.push({
      ...op("alter", "project", "additive", `${text}, set in the configuration`),
      details: { workers: workers ?? null },
    });
  }
  return ops;
}

function compareFiles(before: Manifest, after: Manifest): string[] {
  const changes = compareMaps(
    new Map(before.modules.map((module) => [module.path, module.sha256])),
    new Map(after.modules.map((module) => [module.path, module.sha256])),
  );
  // a manifest may also differ where no file of the project does, by another version of a library
  return changes.length > 0 || JSON.stringify(before) === JSON.stringify(after)
    ? changes
    : ["the application's declarations changed"];
}

function comparePython(
  before: { manifest: Manifest; runtime: Runtime },
  after: { manifest: Manifest; runtime: Runtime },
): string | undefined {
  if (before.runtime.python !== after.runtime.python) {
    return `Python becomes ${after.runtime.python} (${after.runtime.python_source})`;
  }
  const paths = JSON.stringify(before.runtime.library_paths) !== JSON.stringify(after.runtime.library_paths);
  return paths ? "the library's place changed" : undefined;
}

function compareEnvironments(before: Runtime["env"], after: Runtime["env"]): string[] {
  const own = (env: Runtime["env"]) => new Map(Object.entries(env).filter(([name]) => !TERMINAL.test(name)));
  return compareMaps(own(before), own(after));
}

function compareMaps(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  return names.flatMap((name) => {
    if (!before.has(name)) return [`${name} added`];
    if (!after.has(name)) return [`${name} removed`];
    return before.get(name) === after.get(name) ? [] : [`${name} changed`];
  });
}

function list(changes: readonly string[]): string {
  const more = changes.length - MOST_NAMES;
  return changes.slice(0, MOST_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
