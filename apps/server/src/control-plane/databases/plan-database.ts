import { NO_LOCK_WARNING } from "@appdb/contract/control/database-advice";
import type { TreeEntry } from "@appdb/contract/control/project-tree";
import type {
  DatabaseOp,
  DatabasePlan,
  databasePlanRequestSchema,
  EnvironmentDocument,
} from "@appdb/contract/routes/control-databases";
import { diffEnvironment } from "@appdb/python-runtime/environments/environment";
import type * as z from "zod";
import type { MediaBounds } from "../../config/config-media.ts";
import type { ResourceBounds } from "../../config/config-pods.ts";
import { type DesiredDatabase, firstDesired } from "../../database/desired.ts";
import type { DatabaseRow } from "./databases-store.ts";
import { planFiles, shortenLines } from "./plan-files.ts";
import {
  checkResources,
  describeResources,
  mergeResources,
  planMediaLimit,
  planResources,
  usualResources,
} from "./plan-resources.ts";
import { checkSettings, mergeSettings, planSettings } from "./plan-settings.ts";

const NO_BUCKET_WARNING =
  "media_gb has no effect: this server has no bucket for media. The files are on its disk, and disk_gb limits them.";

/** An environment and its image. The hash is null for the base library alone. */
interface PlannedImage {
  readonly hash: string | null;
  readonly document: EnvironmentDocument | null;
}

/**
 * Plans the change of the image. Undefined if the environment is the same. `is_built`: the organization has an image of
 * the new environment. `runs`: pods must restart to use it.
 */
function planImage(
  before: PlannedImage,
  after: PlannedImage & { readonly document: EnvironmentDocument; readonly is_built: boolean },
  runs: boolean,
): DatabaseOp | undefined {
  if (before.hash === after.hash) return undefined;
  const diff = diffEnvironment(before.document, after.document);
  const isFirst = before.hash === null;
  const needsBuild = after.hash !== null && !after.is_built;
  const because = isFirst ? `from ${after.document.source ?? "the base library"}` : `${diff.parts.join(", ")} changed`;
  return {
    target: "image",
    op: needsBuild ? "build" : "change",
    severity: "additive",
    description: describe(after, because),
    lines: isFirst ? [] : shortenLines(diff.lines),
    requires_restart: runs,
    details: { from: before.hash, to: after.hash, parts: diff.parts },
  };
}

function describe(after: { readonly hash: string | null; readonly is_built: boolean }, because: string): string {
  if (after.hash === null) return `the image will be the base library alone: ${because}`;
  if (after.is_built) return `the image will be one that was built before: ${because}`;
  return `the image will be built: ${because}`;
}

export type PlanRequest = z.output<typeof databasePlanRequestSchema>;

/** A database's row, as an update reads it. */
export interface PlannedRow
  extends Pick<DatabaseRow, "state" | "generation" | "desired" | "observed" | "failure" | "last_build" | "usage"> {
  /** The kind of the open operation: `database.update`. */
  readonly operation: string | null;
}

/** Which of the named files and environments the organization has stored. */
export interface Stored {
  /** The database's environment. Null for the base library alone. */
  readonly environment: EnvironmentDocument | null;
  /** The database's files. Undefined before the first upload. */
  readonly files: readonly TreeEntry[] | undefined;
  /** Whether an image of the requested environment exists. */
  readonly is_built: boolean;
  /** Requested files with missing bytes. */
  readonly missing: readonly TreeEntry[];
  /** Total size of the missing blobs, as declared by their files. */
  readonly missing_bytes: number;
}

/** The requested files and environment. */
export interface Wanted {
  readonly tree: string;
  readonly environment: string | null;
}

export interface DatabasePlanInput {
  readonly uri: string;
  /** Undefined if the database does not exist. */
  readonly row: PlannedRow | undefined;
  readonly request: PlanRequest;
  readonly requestedState: Wanted;
  readonly stored: Stored;
  readonly bounds: ResourceBounds;
  /** Undefined if media stores are on the disk of this server. */
  readonly media: MediaBounds | undefined;
}

export interface MadeDatabasePlan {
  readonly plan: DatabasePlan;
  /** The desired state after the plan is carried out. */
  readonly desired: DesiredDatabase;
}

/**
 * Plans an update or the creation of a database. `db diff` prints the plan, and `db update` carries out the same plan.
 * @throws resources_refused, invalid_request
 */
export function planDatabase(input: DatabasePlanInput): MadeDatabasePlan {
  const { bounds, media, request, row, stored, uri, requestedState } = input;
  const { settings } = request;
  checkSettings(settings, uri);
  const base = row === undefined ? firstDesired(usualResources(bounds)) : baseOf(row);
  const current = row === undefined ? undefined : base.resources;
  checkResources(settings, bounds, {
    uri,
    disk_bytes: row?.usage?.disk_bytes,
    current,
    media,
    media_gb: base.settings.media_gb,
  });
  const desired: DesiredDatabase = {
    ...base,
    ...requestedState,
    resources: mergeResources(base.resources, settings),
    settings: mergeSettings(base.settings, settings, uri),
    is_awake: true,
  };
  const image = planImage(
    { hash: base.environment, document: stored.environment },
    { hash: requestedState.environment, document: request.environment, is_built: stored.is_built },
    row !== undefined,
  );
  const ops = [
    ...(row === undefined ? [creation(desired, media)] : []),
    ...(image === undefined ? [] : [image]),
    ...filesOf(input, base),
    ...(row === undefined ? [] : planResources(base.resources, desired.resources)),
    ...(row === undefined ? [] : planMediaLimit(base.settings, desired.settings, { media, usage: row.usage })),
    ...(row === undefined ? [] : planSettings(base.settings, desired.settings)),
  ];
  return { plan: toPlan(input, ops), desired };
}

/**
 * The basis of the comparison: the desired state while a change runs, otherwise the observed state. A change that
 * failed or was cancelled is still due, without the parts that only it asked for.
 */
export function baseOf({
  desired,
  observed,
  state,
}: Pick<PlannedRow, "desired" | "observed" | "state">): DesiredDatabase {
  if (observed === null || state === "PROVISIONING" || state === "UPDATING") return desired;
  return { ...desired, ...observed, restarts: desired.restarts };
}

/** Whether the database runs the last requested state, or will do so after the open operation. */
export function isApplied(row: Pick<PlannedRow, "desired" | "observed" | "state">): boolean {
  const parts = ({ environment, resources, settings, tree, builds }: DesiredDatabase) => {
    const vars = Object.entries(settings.vars).sort(([a], [b]) => (a < b ? -1 : 1));
    const { cpu, disk_gb: diskGb, memory_mb: memoryMb, workers } = resources;
    const {
      db_input_media_dest: dbInputMediaDest,
      db_output_media_dest: dbOutputMediaDest,
      db_media_sources: dbMediaSources = [],
      media_gb: mediaGb,
      sleep_after: sleepAfter,
      wake_on_request: wakeOnRequest,
    } = settings;
    return JSON.stringify([
      environment,
      tree,
      builds,
      cpu,
      diskGb,
      memoryMb,
      workers,
      vars,
      dbInputMediaDest,
      dbOutputMediaDest,
      dbMediaSources,
      mediaGb,
      sleepAfter,
      wakeOnRequest,
    ]);
  };
  return parts(baseOf(row)) === parts(row.desired);
}

function creation(desired: DesiredDatabase, media: MediaBounds | undefined): DatabaseOp {
  const { settings } = desired;
  const before = firstDesired(desired.resources).settings;
  return {
    target: "database",
    op: "create",
    severity: "additive",
    requires_restart: false,
    description: `will be created with ${describeResources(desired.resources)}`,
    lines: [...planMediaLimit(before, settings, { media, usage: null }), ...planSettings(before, settings)].map(
      ({ description }) => description.replace(/ rather than .*$|, which restarts the database$/g, ""),
    ),
    details: { resources: desired.resources },
  };
}

function filesOf({ request, row, stored, requestedState }: DatabasePlanInput, base: DesiredDatabase): DatabaseOp[] {
  if (base.tree === requestedState.tree) return [];
  const op = planFiles(row === undefined ? undefined : (stored.files ?? []), request.files);
  return op === undefined ? [] : [op];
}

function toPlan({ media, request, row, stored, uri }: DatabasePlanInput, ops: DatabaseOp[]): DatabasePlan {
  const change = ops.length === 0 ? "up_to_date" : "update";
  return {
    uri,
    exists: row !== undefined,
    state: row?.state ?? "absent",
    generation: row?.generation ?? 0,
    resolution: row === undefined ? "create" : change,
    ops,
    missing_files: stored.missing.length,
    missing_bytes: stored.missing_bytes,
    warnings: [
      ...(request.environment.source === null ? [NO_LOCK_WARNING] : []),
      ...(media === undefined && request.settings.media_gb !== undefined ? [NO_BUCKET_WARNING] : []),
      ...(row === undefined ? [] : warnOf(uri, row)),
    ],
    in_agreement: row !== undefined && ops.length === 0,
    summary: {
      ops: ops.length,
      destructive: ops.filter(({ severity }) => severity === "destructive").length,
      rebuild: ops.some(({ op }) => op === "build"),
      restarts: ops.some(({ requires_restart: requiresRestart }) => requiresRestart),
    },
  };
}

/** Warnings about an earlier change that has not completed. */
function warnOf(uri: string, row: PlannedRow): string[] {
  if (row.operation !== null) {
    return [`Generation ${row.generation} is in progress (${row.operation}); this plan compares with its result.`];
  }
  if (row.state === "FAILED" && row.failure !== null) return [`It has failed: ${row.failure.detail}`];
  if (isApplied(row)) return [];
  const error = row.last_build?.state === "failed" ? row.last_build.error : null;
  return error === null
    ? [`Generation ${row.generation} was not carried out; the database still runs its previous state.`]
    : [`The last build failed: ${error.detail} To build it again without a change: cli db build-image ${uri}`];
}
