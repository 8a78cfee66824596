import { appError } from "@appdb/contract/errors";
import { type Manifest, manifestSchema } from "@appdb/contract/manifest";
import { wrongName } from "@appdb/contract/manifest-names";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { checkEnvironment } from "../environments/check-environment.ts";
import { takeManifest, type WrittenManifest } from "../workers/read-manifest.ts";
import { isShareable, type SharedIndex } from "./lock-sources.ts";

/** Output of one run of the manifest writer in a tenant's environment. */
export interface ManifestOutput {
  readonly app_file: string;
  /** The interpreter that ran it. */
  readonly python: string;
  readonly written: WrittenManifest;
}

/** Tasks that process documents from tenants. Inputs and results can be sent between processes. */
export const DOCUMENT_TASKS = {
  /** @throws environment_refused */
  check({ document }: { readonly document: EnvironmentDocument }): boolean {
    checkEnvironment(document);
    return true;
  },
  isShareable({ document, index }: { readonly document: EnvironmentDocument; readonly index: SharedIndex }): boolean {
    return isShareable(document, index);
  },
  /**
   * @throws app_invalid and other errors of the application file, manifest_invalid, manifest_too_new,
   * environment_failed
   */
  readManifest({ app_file: appFile, python, written }: ManifestOutput): Manifest {
    const parsed = manifestSchema.safeParse(takeManifest({ app_file: appFile, runtime: { python } }, written));
    if (parsed.success) return parsed.data;
    const refused = wrongName(parsed.error);
    if (refused !== undefined) throw refused;
    const [first] = parsed.error.issues;
    const location = first === undefined ? "" : `/${first.path.map(String).join("/")}: ${first.message}`;
    throw appError("manifest_invalid", {
      detail: `The library in the application's environment wrote an invalid manifest. ${location.slice(0, MAX_PLACE)}`,
      hint: "Upgrade it in the project: uv lock --upgrade-package appdb",
    });
  },
} as const;

const MAX_PLACE = 300;

export type DocumentTask = keyof typeof DOCUMENT_TASKS;
export type DocumentTaskInput<Task extends DocumentTask> = Parameters<(typeof DOCUMENT_TASKS)[Task]>[0];
export type DocumentTaskValue<Task extends DocumentTask> = ReturnType<(typeof DOCUMENT_TASKS)[Task]>;
