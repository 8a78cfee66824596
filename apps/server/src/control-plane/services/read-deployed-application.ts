import type { TreeEntry } from "@appdb/contract/control/project-tree";
import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import { parseTarget } from "@appdb/contract/names";
import type { TablePlan } from "@appdb/contract/plan";
import { podClient } from "../../pods/pod-client.ts";
import type { OrgOfDatabases } from "../databases/databases-store.ts";
import { type FoundPod, findPod } from "../databases/find-pod.ts";
import { findPrepared } from "../preparations/preparations.ts";
import { checkAppFile, checkImported, explainError, type ImportedDigests, noFiles } from "../schema/check-files.ts";
import { readDeployedTree, readStoredTree } from "../schema/deployed-tree.ts";
import { type StageUploadDeps, stageUpload } from "../schema/stage-upload.ts";

/** The declarations of an application file, and the state of its database. */
export interface DeployedApplication {
  readonly app_file: string;
  /** The target of its services: `cloud://acme:main/reports`. */
  readonly target: string;
  readonly folders: readonly string[];
  readonly manifest: Manifest;
  /** The database's row when its pod was asked. */
  readonly database: FoundPod["row"];
  readonly entries: readonly TreeEntry[];
  /** Tables that differ from the file. */
  readonly differing_tables: readonly string[];
  readonly catalog_version: number;
}

interface ReadInput {
  readonly app_file: string;
  readonly folders: readonly string[];
  readonly file_digests: ImportedDigests | null;
  /** Uploaded files to plan with. Null for the database's own. */
  readonly files?: readonly TreeEntry[] | null;
  /** A preparation to plan with, instead of files. */
  readonly preparation?: string | undefined;
}

/**
 * Makes a database's pod read an application file, from the database's own files or from uploaded ones. The database's
 * own must match the caller's. For uploaded files, the answer describes the database after its tables follow them.
 * Holds no locks, because the file is user code that may run long.
 * @throws invalid_target, preparation_not_found, database_not_found, database_not_available, project_files_differ,
 * database_not_reached, app_invalid, the pod's refusals
 */
export async function readDeployedApplication(
  deps: StageUploadDeps,
  org: OrgOfDatabases,
  name: string,
  input: ReadInput,
  signal: AbortSignal,
): Promise<DeployedApplication> {
  const { app_file: appFile, folders } = input;
  const found = await findPod(deps, org, name, "changed");
  const { pod } = found;
  const target = parseTarget([pod.uri, ...folders].join("/"));
  const {
    entries,
    manifest,
    row,
    tree,
    will_follow: willFollow,
  } = input.preparation === undefined
    ? await readByPod(deps, org, found, input, signal)
    : await takePrepared(deps, org, found, { app_file: appFile, id: input.preparation });
  refuseUnstorableText(appFile, manifest);
  const request = { app_file: appFile, files: tree, folders: [...target.folders] };
  const body = input.preparation === undefined ? request : { ...request, manifest };
  const { plan } = await podClient(pod).call("schemaPlan", { body }, { signal });
  return {
    app_file: appFile,
    target: target.text,
    folders: target.folders,
    manifest,
    entries,
    catalog_version: plan.catalog_version,
    database: row,
    differing_tables: plan.tables.filter(({ resolution }) => differs(resolution, willFollow)).map(({ path }) => path),
  };
}

/** The input of a plan. */
interface ReadFile extends Pick<DeployedApplication, "entries" | "manifest"> {
  readonly tree: string;
  /** The database with these files. */
  readonly row: FoundPod["row"];
  /** Whether its tables will have followed the file. */
  readonly will_follow: boolean;
}

async function readByPod(
  deps: StageUploadDeps,
  org: OrgOfDatabases,
  found: FoundPod,
  { app_file: appFile, file_digests: fileDigests, files: sent = null }: ReadInput,
  signal: AbortSignal,
): Promise<ReadFile> {
  const { pod, row } = found;
  const tree =
    sent === null
      ? await readDeployedTree(deps.db, org, found)
      : { digest: await stageUpload(deps, org, found, sent, signal), entries: sent };
  checkAppFile(pod.uri, tree.entries, appFile, fileDigests);
  const files = tree.digest;
  const request = { body: { app_file: appFile, files } };
  const manifestAnswer = await podClient(pod)
    .call("manifest", request, { signal })
    .catch((error: unknown) => explainError(pod.uri, tree.entries, fileDigests, error));
  checkImported(pod.uri, manifestAnswer.imported, fileDigests);
  return {
    entries: tree.entries,
    manifest: manifestAnswer.manifest,
    tree: files,
    will_follow: sent !== null,
    row: row.observed === null ? row : { ...row, observed: { ...row.observed, tree: files } },
  };
}

async function takePrepared(
  { db }: Pick<StageUploadDeps, "db">,
  org: OrgOfDatabases,
  { pod, row }: FoundPod,
  { app_file: appFile, id }: { readonly app_file: string; readonly id: string },
): Promise<ReadFile> {
  const prepared = await findPrepared(db, org, { id, app_file: appFile, database_id: row.id, uri: pod.uri });
  const { environment, manifest, resources, tree } = prepared;
  const entries = await readStoredTree(db, org, tree);
  if (entries === undefined) throw noFiles(pod.uri);
  const observed = row.observed === null ? null : { ...row.observed, tree, environment };
  const desired = { ...row.desired, resources };
  return { entries, manifest, tree, row: { ...row, observed, desired }, will_follow: true };
}

/** Tables that will follow the file block no service, except those that cannot follow. */
function differs(resolution: TablePlan["resolution"], willFollow: boolean): boolean {
  return willFollow ? resolution === "unsupported" : resolution !== "up_to_date";
}

/** In JSON: a NUL or a lone surrogate. The lookbehind excludes an escaped backslash. */
const UNKEPT = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

/** Releases are stored in PostgreSQL, whose texts cannot hold these. @throws app_invalid */
function refuseUnstorableText(appFile: string, manifest: Manifest): void {
  if (!UNKEPT.test(JSON.stringify(manifest))) return;
  throw appError("app_invalid", {
    detail: `A text declared in ${appFile} contains a NUL character or a lone surrogate, which a release cannot store.`,
    hint: "Look for \\x00 and \\ud800 in comments, descriptions, defaults and queries.",
    meta: { app_file: appFile },
  });
}
