import { type AppError, appError } from "@appdb/contract/errors";
import type { ReadProject } from "../project/read-project.ts";

/** Digests of files that Python could import. Other changed files do not prevent an update of tables or services. */
export function pythonDigests({ tree }: ReadProject): Record<string, string> {
  return Object.fromEntries([...tree.digests].filter(([path]) => path.endsWith(".py")));
}

/** Error for an application file that is not uploaded, so that no hosted database can have it. */
export function notSelected(appFile: string, { project }: ReadProject): AppError {
  return appError("app_outside_project", {
    detail: `${appFile} is not uploaded: git ignores it, or the database's entry excludes it.`,
    hint: `Add it to include in ${project.config_file}, or remove it from exclude.`,
    meta: { file: appFile },
  });
}
