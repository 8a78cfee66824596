import type { OutdatedService } from "@appdb/contract/jobs";
import { parseServiceName } from "@appdb/contract/names";
import { commandLine, shellLine } from "./command-line.ts";

/** `main/ingest computes 'summary' of main/docs by previous code of app:excerpt, until: cli service update ...`. */
export function describeOutdated(outdated: OutdatedService, projectRoot?: string | undefined): string {
  const { app_file: appFile, columns, functions, project_root: root, service, table } = outdated;
  const update = commandLine(["service", "update", appFile, parseServiceName(service).target.text]);
  const next = root === null || root === projectRoot ? update : `${shellLine(["cd", root])} && ${update}`;
  const names = columns.map((name) => `'${name}'`).join(", ");
  return `${service} computes ${names} of ${table} by previous code of ${functions.join(", ")}, until: ${next}`;
}
