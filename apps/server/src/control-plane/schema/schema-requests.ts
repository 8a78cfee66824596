import type { Manifest } from "@appdb/contract/manifest";
import type { SchemaPlan } from "@appdb/contract/plan";
import type {
  hostedQueryExplainRequestSchema,
  hostedSchemaApplyRequestSchema,
  hostedSchemaPlanRequestSchema,
  hostedSchemaPruneRequestSchema,
} from "@appdb/contract/routes/control-databases";
import type { QueryExplanation } from "@appdb/contract/routes/local";
import type * as z from "zod";
import { type DatabaseAddress, podClient } from "../../pods/pod-client.ts";
import type { OrgOfDatabases } from "../databases/databases-store.ts";
import { findPod } from "../databases/find-pod.ts";
import { findPrepared } from "../preparations/preparations.ts";
import { listForPlan } from "../services/services-store.ts";
import { checkAppFile, checkImported, explainError } from "./check-files.ts";
import { readDeployedTree } from "./deployed-tree.ts";
import { type StageUploadDeps, stageUpload } from "./stage-upload.ts";

export type SchemaRequestDeps = StageUploadDeps;

/**
 * Plans an update of the tables from uploaded files, from a preparation, or from the database's own files. The last
 * must match the caller's files.
 * @throws preparation_not_found, database_not_available, project_files_differ, blobs_missing, tree_invalid,
 * database_not_reached, the pod's refusals
 */
export async function planHostedSchema(
  deps: SchemaRequestDeps,
  org: OrgOfDatabases,
  name: string,
  body: z.output<typeof hostedSchemaPlanRequestSchema>,
  signal: AbortSignal,
): Promise<{ plan: SchemaPlan }> {
  const { app_file: appFile, file_digests: fileDigests, files, folders, preparation, recompute } = body;
  const found = await findPod(deps, org, name, "changed");
  // the services of an application that is being deployed are updated after its tables
  const services = preparation === undefined ? await listForPlan(deps.db, found.row.id, found.pod.uri) : [];
  const ask = async (tree: string, manifest?: Manifest) => {
    const request = {
      services,
      app_file: appFile,
      files: tree,
      folders,
      recompute,
      ...(manifest === undefined ? {} : { manifest }),
    };
    return await podClient(found.pod).call("schemaPlan", { body: request }, { signal });
  };
  if (preparation !== undefined) {
    const preparedRequest = { id: preparation, database_id: found.row.id, app_file: appFile, uri: found.pod.uri };
    const { manifest, tree } = await findPrepared(deps.db, org, preparedRequest);
    return { plan: (await ask(tree, manifest)).plan };
  }
  if (files !== null) return { plan: (await ask(await stageUpload(deps, org, found, files, signal))).plan };
  const own = await readDeployedTree(deps.db, org, found);
  checkAppFile(found.pod.uri, own.entries, appFile, fileDigests);
  const planned = await ask(own.digest).catch((error: unknown) =>
    explainError(found.pod.uri, own.entries, fileDigests, error),
  );
  checkImported(found.pod.uri, planned.imported, fileDigests);
  return { plan: planned.plan };
}

export interface BegunApply {
  readonly pod: DatabaseAddress;
  /** Progress, then `done` or `error`. */
  readonly events: AsyncIterable<object>;
}

/**
 * Starts an update of the tables from the database's own files. Calls `recordPending` right before.
 * @throws as planHostedSchema
 */
export async function beginApply(
  deps: SchemaRequestDeps,
  org: OrgOfDatabases,
  name: string,
  body: z.output<typeof hostedSchemaApplyRequestSchema>,
  recordPending: (uri: string) => Promise<void>,
  signal: AbortSignal,
): Promise<BegunApply> {
  const { app_file: appFile, file_digests: _digests, ...rest } = body;
  const { files, pod } = await findDeployed(deps, org, name, body, signal);
  await recordPending(pod.uri);
  const request = { body: { ...rest, app_file: appFile, files } };
  return { pod, events: await podClient(pod).events("schemaApply", request, { signal }) };
}

/** The pod of a database, and the tree with its files, which match those of the caller. @throws as planHostedSchema */
async function findDeployed(
  deps: SchemaRequestDeps,
  org: OrgOfDatabases,
  name: string,
  { app_file: appFile, file_digests: fileDigests }: { readonly app_file: string; readonly file_digests: Digests },
  signal: AbortSignal,
): Promise<{ readonly pod: DatabaseAddress; readonly files: string }> {
  const found = await findPod(deps, org, name, "changed");
  const { pod } = found;
  const own = await readDeployedTree(deps.db, org, found);
  checkAppFile(pod.uri, own.entries, appFile, fileDigests);
  const { imported } = await podClient(pod)
    .call("manifest", { body: { app_file: appFile, files: own.digest } }, { signal })
    .catch((error: unknown) => explainError(pod.uri, own.entries, fileDigests, error));
  checkImported(pod.uri, imported, fileDigests);
  return { pod, files: own.digest };
}

type Digests = Parameters<typeof checkImported>[2];

/** Records how a change of the tables of a database ends. */
export type RecordOutcome = (uri: string, outcome: "pending" | "succeeded" | "failed") => Promise<void>;

/** Drops tables that the database's own file does not declare, or shows them. Calls `recordDrop` before it drops.
 *  @throws as planHostedSchema */
export async function pruneHostedSchema(
  deps: SchemaRequestDeps,
  org: OrgOfDatabases,
  name: string,
  { file_digests: fileDigests, ...body }: z.output<typeof hostedSchemaPruneRequestSchema>,
  { record, signal }: { readonly record: RecordOutcome; readonly signal: AbortSignal },
): Promise<{ plan: SchemaPlan }> {
  const { files, pod } = await findDeployed(deps, org, name, { ...body, file_digests: fileDigests }, signal);
  const prune = () => podClient(pod).call("schemaPrune", { body: { ...body, files } }, { signal });
  if (body.catalog_version === null) return await prune();
  await record(pod.uri, "pending");
  try {
    const pruned = await prune();
    await record(pod.uri, "succeeded");
    return pruned;
  } catch (error) {
    await record(pod.uri, "failed");
    throw error;
  }
}

/** Explains a query of the database's own file. @throws as planHostedSchema */
export async function explainHostedQuery(
  deps: SchemaRequestDeps,
  org: OrgOfDatabases,
  name: string,
  { file_digests: fileDigests, ...body }: z.output<typeof hostedQueryExplainRequestSchema>,
  signal: AbortSignal,
): Promise<QueryExplanation> {
  const { files, pod } = await findDeployed(deps, org, name, { ...body, file_digests: fileDigests }, signal);
  return await podClient(pod).call("queryExplain", { body: { ...body, files } }, { signal });
}
