import type { Manifest } from "@appdb/contract/manifest";
import type { PlanOp } from "@appdb/contract/plan";
import type { Runtime } from "@appdb/contract/runtime";
import { isLimitVariable } from "@appdb/contract/service-limits";
import { compareFiles, compareMaps, listChanges } from "@appdb/engine/services/compare-files";
import { op } from "@appdb/engine/services/compare-routes";

/**
 * Variables of the terminal, not of the application. They differ between two commands of one user and must not restart
 * a service.
 */
const TERMINAL =
  /^(_|PWD|OLDPWD|SHLVL|TERM|TERM_.*|COLORTERM|COLUMNS|LINES|DISPLAY|WINDOWID|WAYLAND_.*|SSH_.*|XDG_.*|DBUS_.*|VSCODE_.*|TMUX.*|STY|WINDOW|LS_COLORS|PS[1-4]|PROMPT.*|HIST.*|INVOCATION_ID|JOURNAL_STREAM|GPG_.*|npm_.*|NODE|INIT_CWD|EDITOR|VISUAL|PAGER|LESS.*|NO_COLOR|FORCE_COLOR|ITERM_.*|KONSOLE_.*|GNOME_.*|VTE_.*|WT_.*|CI_JOB_.*)$/;

/** Changes in what a service's code runs with: imported files, Python, environment. */
export function compareRuntimes(
  before: { manifest: Manifest; runtime: Runtime },
  after: { manifest: Manifest; runtime: Runtime },
): PlanOp[] {
  const ops: PlanOp[] = [];
  const files = compareFiles(before.manifest, after.manifest);
  if (files.length > 0) ops.push({ ...op("alter", "project", "additive", listChanges(files)), details: { files } });
  const python = comparePython(before, after);
  if (python !== undefined)
    ops.push({ ...op("alter", "project", "additive", python), details: { python: after.runtime.python } });
  const variables = compareEnvironments(before.runtime.env, after.runtime.env);
  if (variables.length > 0) {
    const isLimit = variables.some((change) => isLimitVariable(change.split(" ", 1)[0] ?? ""));
    const note = isLimit ? "; limits apply after cli daemon restart" : "";
    // names only: values are secrets
    ops.push({
      ...op("alter", "project", "additive", `environment: ${listChanges(variables)}${note}`),
      details: { variables },
    });
  }
  const { workers } = after.runtime;
  if (workers !== before.runtime.workers) {
    const text = workers === undefined ? "the default number of workers" : `${workers} workers`;
    ops.push({
      ...op("alter", "project", "additive", `${text}, set in the configuration`),
      details: { workers: workers ?? null },
    });
  }
  if (printAccess(before.runtime) !== printAccess(after.runtime)) {
    ops.push(op("alter", "project", "additive", "access to the media store of a hosted database"));
  }
  return ops;
}

function printAccess({ hosted }: Runtime): string {
  return JSON.stringify([hosted?.url, hosted?.home, hosted?.api_key]);
}

function comparePython(
  before: { manifest: Manifest; runtime: Runtime },
  after: { manifest: Manifest; runtime: Runtime },
): string | undefined {
  if (before.runtime.python !== after.runtime.python) {
    return `Python becomes ${after.runtime.python} (${after.runtime.python_source})`;
  }
  return pathsOf(before.runtime) === pathsOf(after.runtime) ? undefined : "the library's path changed";
}

function pathsOf({ library_paths: libraryPaths }: Runtime): string {
  return JSON.stringify(libraryPaths);
}

function compareEnvironments(before: Runtime["env"], after: Runtime["env"]): string[] {
  const own = (env: Runtime["env"]) => new Map(Object.entries(env).filter(([name]) => !TERMINAL.test(name)));
  return compareMaps(own(before), own(after));
}
