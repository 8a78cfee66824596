import { availableParallelism, totalmem } from "node:os";
import type { Resources } from "@appdb/contract/pod-spec";
import { limitSettings, type ServiceLimits, toServiceLimits } from "@appdb/contract/service-limits";
import { POD_USERS, type UserRange } from "@appdb/pods/driver/pod-users";
import { z } from "zod";

const POD_DRIVERS = ["auto", "process", "sandbox"] as const;
const MEGABYTE = 1024 * 1024;
const GIGABYTE = 1024 * MEGABYTE;
/** Default share of the machine for one database. Small machines still allow two databases with default sizes. */
const SHARE = 0.25;
const SMALL_CPU = 2;
const SMALL_MEMORY_MB = 2_048;

const empty = (value: unknown) => (value === "" ? undefined : value);
const number = (fallback: number, min: number, max: number) =>
  z.preprocess(empty, z.coerce.number().min(min).max(max).default(fallback));
const count = (fallback: number, min: number, max: number) =>
  z.preprocess(empty, z.coerce.number().int().min(min).max(max).default(fallback));

// an entry's resources set workers and their memory; the gateway has its own setting for bodies, in megabytes
const {
  SERVICE_WORKERS: _workers,
  SERVICE_WORKER_MEMORY_MB: _memory,
  SERVICE_BODY_BYTES: _body,
  ...hostedLimits
} = limitSettings;

/** Settings of databases and their pods, by the names of their environment variables. */
export const podSettings = {
  /** The pod driver. `auto` is the sandbox if the machine supports it. */
  SERVICE_PODS: z.preprocess(empty, z.enum(POD_DRIVERS).default("auto")),
  /** User ids reserved for pods, `first:count`: one for each database, and one for each organization's builds. */
  SERVICE_POD_USERS: z.preprocess(empty, z.string().transform(parseUsers).default(POD_USERS)),
  SERVICE_MIN_CPU: number(0.1, 0.01, 1_024),
  SERVICE_MAX_CPU: number(shareOf(availableParallelism(), SMALL_CPU), 0.01, 1_024),
  SERVICE_MIN_MEMORY_MB: count(256, 128, 16_777_216),
  SERVICE_MAX_MEMORY_MB: count(shareOf(Math.floor(totalmem() / MEGABYTE), SMALL_MEMORY_MB), 128, 16_777_216),
  SERVICE_MIN_DISK_GB: count(1, 1, 1_048_576),
  SERVICE_MAX_DISK_GB: count(100, 1, 1_048_576),
  SERVICE_MIN_WORKERS: count(1, 1, 1_024),
  SERVICE_MAX_WORKERS: count(16, 1, 1_024),
  /** Maximum project files of an organization, including those that its databases used before. */
  SERVICE_MAX_UPLOADS_GB: count(20, 1, 1_048_576),
  /** 1: pods outlive a stopped server, and its next start adopts them. They always outlive a killed one. */
  SERVICE_KEEP_PODS: z.preprocess(empty, z.enum(["0", "1"]).default("0")),
  /** Days in which a deleted database can be undeleted. */
  SERVICE_UNDELETE_DAYS: count(7, 0, 365),
  ...hostedLimits,
} as const;

/** Default maximum of one database: a share of a large machine, or `small`, but never more than the machine has. */
export function shareOf(machine: number, small: number): number {
  return Math.min(machine, Math.max(small, Math.floor(machine * SHARE)));
}

/** Lower ids belong to system users. */
const LEAST_USER = 1_000;
const USERS_END = 2 ** 32 - 1;
/** The ids of `nobody`: the kernel shows files of unmapped users under them. */
const NOBODY = [65_534, 65_535];

function parseUsers(text: string, context: z.RefinementCtx): UserRange {
  const [, first, count] = (/^(\d+):(\d+)$/.exec(text) ?? []).map(Number);
  const refuse = (message: string) => {
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  };
  if (first === undefined || count === undefined || count === 0)
    return refuse(`expected FIRST:COUNT, for example ${POD_USERS.first}:${POD_USERS.count}`);
  const end = first + count;
  if (first < LEAST_USER || end > USERS_END) return refuse(`is not within ${LEAST_USER} to ${USERS_END - 1}`);
  if (NOBODY.some((user) => user >= first && user < end))
    return refuse(`must not include the users ${NOBODY.join(" and ")}`);
  return { first, count };
}

type Found = z.output<z.ZodObject<typeof podSettings>>;

/** The operator's bounds for one database. */
export interface ResourceBounds {
  readonly least: Resources;
  readonly most: Resources;
}

export interface PodsConfig {
  readonly driver: (typeof POD_DRIVERS)[number];
  readonly users: UserRange;
  readonly bounds: ResourceBounds;
  readonly max_upload_bytes: number;
  readonly undelete_days: number;
  /** Per service and per database's own queries. Workers and bodies have separate bounds. */
  readonly limits: ServiceLimits;
  /** Whether pods keep running without the server. */
  readonly are_kept: boolean;
}

/** The settings that bound each resource, for error messages. */
export const BOUND_SETTINGS = {
  cpu: { least: "SERVICE_MIN_CPU", most: "SERVICE_MAX_CPU" },
  memory_mb: { least: "SERVICE_MIN_MEMORY_MB", most: "SERVICE_MAX_MEMORY_MB" },
  disk_gb: { least: "SERVICE_MIN_DISK_GB", most: "SERVICE_MAX_DISK_GB" },
  workers: { least: "SERVICE_MIN_WORKERS", most: "SERVICE_MAX_WORKERS" },
} as const satisfies Record<keyof Resources, { readonly least: keyof Found; readonly most: keyof Found }>;

const RESOURCES = ["cpu", "memory_mb", "disk_gb", "workers"] as const satisfies readonly (keyof Resources)[];

/** Reports each resource whose minimum exceeds its maximum. */
export function refuseCrossedBounds(found: Found, context: z.RefinementCtx): void {
  for (const name of RESOURCES) {
    const { least: min, most: max } = BOUND_SETTINGS[name];
    if (found[min] <= found[max]) continue;
    context.addIssue({
      code: "custom",
      path: [min],
      message: `is ${found[min]}, and ${max} is ${found[max]}: no database can meet both`,
    });
  }
}

export function toPodsConfig(found: Found): PodsConfig {
  const bound = (side: "least" | "most"): Resources => ({
    cpu: found[BOUND_SETTINGS.cpu[side]],
    memory_mb: found[BOUND_SETTINGS.memory_mb[side]],
    disk_gb: found[BOUND_SETTINGS.disk_gb[side]],
    workers: found[BOUND_SETTINGS.workers[side]],
  });
  return {
    driver: found.SERVICE_PODS,
    users: found.SERVICE_POD_USERS,
    bounds: { least: bound("least"), most: bound("most") },
    max_upload_bytes: found.SERVICE_MAX_UPLOADS_GB * GIGABYTE,
    undelete_days: found.SERVICE_UNDELETE_DAYS,
    limits: toServiceLimits(found),
    are_kept: found.SERVICE_KEEP_PODS === "1",
  };
}
