import { appError, type FieldError } from "@appdb/contract/errors";
import type { Resources } from "@appdb/contract/pod-spec";
import type { DatabaseOp } from "@appdb/contract/routes/control-databases";
import type { MediaBounds } from "../../config/config-media.ts";
import { BOUND_SETTINGS, type ResourceBounds } from "../../config/config-pods.ts";
import type { DesiredDatabase } from "../../database/desired.ts";
import type { DatabaseRow } from "./databases-store.ts";

const NAMES = ["cpu", "memory_mb", "disk_gb", "workers"] as const satisfies readonly (keyof Resources)[];
/** Resources of a database whose entry sets none. */
const USUAL: Resources = { cpu: 1, memory_mb: 1_024, disk_gb: 10, workers: 1 };
const GIGABYTE = 1024 ** 3;

export type WantedResources = { readonly [name in keyof Resources | "media_gb"]?: number | undefined };

/** The default resources within the operator's bounds. */
export function usualResources({ least: min, most: max }: ResourceBounds): Resources {
  const within = (name: keyof Resources) => Math.min(Math.max(USUAL[name], min[name]), max[name]);
  return {
    cpu: within("cpu"),
    memory_mb: within("memory_mb"),
    disk_gb: within("disk_gb"),
    workers: within("workers"),
  };
}

/** The current resources with those of an entry. Missing ones stay. */
export function mergeResources(current: Resources, requested: WantedResources): Resources {
  return {
    cpu: requested.cpu ?? current.cpu,
    memory_mb: requested.memory_mb ?? current.memory_mb,
    disk_gb: requested.disk_gb ?? current.disk_gb,
    workers: requested.workers ?? current.workers,
  };
}

/** The current resources, raised to those of an entry. */
export function growResources(current: Resources, requested: WantedResources): Resources {
  return {
    cpu: Math.max(requested.cpu ?? 0, current.cpu),
    memory_mb: Math.max(requested.memory_mb ?? 0, current.memory_mb),
    disk_gb: Math.max(requested.disk_gb ?? 0, current.disk_gb),
    workers: Math.max(requested.workers ?? 0, current.workers),
  };
}

/**
 * Checks all requested resources together. Unchanged ones pass, because the operator may have changed the bounds.
 * @throws resources_refused with the bound and the operator's setting, or with the used size
 */
export function checkResources(
  requested: WantedResources,
  bounds: ResourceBounds,
  current: {
    readonly uri: string;
    readonly disk_bytes: number | undefined;
    readonly current: Resources | undefined;
    readonly media: MediaBounds | undefined;
    readonly media_gb: number | undefined;
  },
): void {
  const errors: FieldError[] = [];
  const add = (name: keyof WantedResources, detail: string) => errors.push({ pointer: `/settings/${name}`, detail });
  for (const name of NAMES) {
    const value = requested[name];
    if (value === undefined || value === current.current?.[name]) continue;
    const [min, max] = [bounds.least[name], bounds.most[name]];
    if (value < min) add(name, `${name} is ${value}; at least ${min} (${BOUND_SETTINGS[name].least} of the server)`);
    if (value > max) add(name, `${name} is ${value}; at most ${max} (${BOUND_SETTINGS[name].most} of the server)`);
  }
  const { disk_bytes: diskBytes = 0, media } = current;
  const { disk_gb: diskGb } = requested;
  // The database may hold a little more than its disk. An update that leaves disk_gb as it is must be possible.
  if (diskGb !== undefined && diskGb !== current.current?.disk_gb && diskGb * GIGABYTE < diskBytes) {
    const used = (diskBytes / GIGABYTE).toFixed(2);
    const least = Math.ceil(diskBytes / GIGABYTE);
    add("disk_gb", `disk_gb is ${diskGb}; the database holds ${used} GB already, so at least ${least}`);
  }
  const { media_gb: mediaGb } = requested;
  if (mediaGb !== undefined && media !== undefined && mediaGb > media.max_gb && mediaGb !== current.media_gb) {
    add("media_gb", `media_gb is ${mediaGb}; at most ${media.max_gb} (SERVICE_MAX_MEDIA_GB of the server)`);
  }
  if (errors.length === 0) return;
  throw appError("resources_refused", {
    detail: `${current.uri} cannot have these resources: ${errors.map(({ detail }) => detail).join("; ")}.`,
    hint: "Correct the database's entry in service.toml. The operator sets the bounds.",
    errors,
  });
}

/** One operation for each resource that changes. */
export function planResources(before: Resources, after: Resources): DatabaseOp[] {
  return NAMES.filter((name) => before[name] !== after[name]).map((name) => {
    const isLess = after[name] < before[name];
    const change = `${name} will be ${after[name]} rather than ${before[name]}`;
    return {
      target: "resources",
      op: "change",
      severity: isLess ? "destructive" : "additive",
      description: `${change}${isLess ? ", less than before" : ""}, which restarts the database`,
      lines: [],
      requires_restart: true,
      details: { name, from: before[name], to: after[name] },
    };
  });
}

/**
 * The change of the limit of the media store in the bucket. A limit below what it holds is allowed: its files stay, and
 * further ones are refused.
 */
export function planMediaLimit(
  before: DesiredDatabase["settings"],
  after: DesiredDatabase["settings"],
  { media, usage }: { readonly media: MediaBounds | undefined; readonly usage: DatabaseRow["usage"] },
): DatabaseOp[] {
  const [from, to] = [before.media_gb ?? media?.default_gb, after.media_gb ?? media?.default_gb];
  if (before.media_gb === after.media_gb || to === undefined) return [];
  const stored = usage?.is_media_in_bucket === true ? (usage.media_bytes ?? 0) : 0;
  const held = `files are refused until its media store, which holds ${(stored / GIGABYTE).toFixed(2)} GB, has room`;
  const previous = from === undefined ? "" : ` rather than ${from}`;
  const isOver = to * GIGABYTE <= stored;
  return [
    {
      target: "resources",
      op: "change",
      severity: "additive",
      description: `media_gb will be ${to}${previous}, which restarts the database${isOver ? `; ${held}` : ""}`,
      lines: [],
      requires_restart: true,
      details: { name: "media_gb", from: from ?? null, to },
    },
  ];
}

export function describeResources(resources: Resources): string {
  return NAMES.map((name) => `${name} ${resources[name]}`).join(", ");
}
