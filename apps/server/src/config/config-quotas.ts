import { z } from "zod";

/** What one caller of the control plane may do. */
export interface ApiBounds {
  /** Requests a second; 0 bounds nothing. */
  readonly rate: number;
  /** Requests that are open at a time: those that follow a log, events or an operation among them. */
  readonly most_open: number;
}

const GIGABYTE = 1024 ** 3;

const empty = (value: unknown) => (value === "" ? undefined : value);
const number = (fallback: number, min: number, max: number) =>
  z.preprocess(empty, z.coerce.number().min(min).max(max).default(fallback));
const count = (fallback: number, min: number, max: number) =>
  z.preprocess(empty, z.coerce.number().int().min(min).max(max).default(fallback));
const given = (min: number, max: number) => z.preprocess(empty, z.coerce.number().min(min).max(max).optional());

/** Settings of what one organization and one person may have, under the names of the environment. */
export const quotaSettings = {
  /** Bytes that an organization's uploads, unpacked project files and images may have together. */
  SERVICE_MAX_STORED_GB: count(50, 1, 1_048_576),
  /** Files that these may be. */
  SERVICE_MAX_STORED_FILES: count(1_000_000, 1_000, 1_000_000_000),
  /** Free disk below which organizations write nothing more. 0 turns the check off. */
  SERVICE_DISK_FLOOR_GB: number(1, 0, 1_048_576),
  /** Organizations that a person may make; the first account of the server may make any number. */
  SERVICE_ORGS_PER_PERSON: count(3, 1, 1_000_000),
  /** Requests a second of a signed-in caller; 0 bounds nothing. */
  SERVICE_API_RATE: count(200, 0, 1_000_000),
  /** Requests of a caller that are open at a time. */
  SERVICE_API_OPEN_REQUESTS: count(128, 1, 1_000_000),
  /** What the databases of an organization may ask for together. */
  SERVICE_ORG_CPU: given(0.01, 1_048_576),
  SERVICE_ORG_MEMORY_MB: given(128, 1_073_741_824),
  SERVICE_ORG_DISK_GB: given(1, 1_073_741_824),
} as const;

type Found = z.output<z.ZodObject<typeof quotaSettings>>;

/** What an organization may store. */
export interface StorageBounds {
  readonly most_bytes: number;
  readonly most_files: number;
  /** Free bytes that organizations leave to the control plane. */
  readonly floor_bytes: number;
}

/** What an organization's databases ask for together. */
export interface OrgResources {
  readonly cpu: number;
  readonly memory_mb: number;
  readonly disk_gb: number;
}

/** The settings that bound a sum: what an error names. */
export const ORG_SETTINGS = {
  cpu: "SERVICE_ORG_CPU",
  memory_mb: "SERVICE_ORG_MEMORY_MB",
  disk_gb: "SERVICE_ORG_DISK_GB",
} as const satisfies Record<keyof OrgResources, keyof Found>;

export interface QuotasConfig {
  readonly api: ApiBounds;
  readonly orgs_per_person: number;
  /** As the operator set them; what is left out is derived from the bounds of one database. */
  readonly sums: Partial<OrgResources>;
  readonly storage: StorageBounds;
}

export function toQuotasConfig(found: Found): QuotasConfig {
  const { SERVICE_ORG_CPU: cpu, SERVICE_ORG_DISK_GB: diskGb, SERVICE_ORG_MEMORY_MB: memoryMb } = found;
  return {
    api: { rate: found.SERVICE_API_RATE, most_open: found.SERVICE_API_OPEN_REQUESTS },
    orgs_per_person: found.SERVICE_ORGS_PER_PERSON,
    sums: {
      ...(cpu === undefined ? {} : { cpu }),
      ...(memoryMb === undefined ? {} : { memory_mb: memoryMb }),
      ...(diskGb === undefined ? {} : { disk_gb: diskGb }),
    },
    storage: {
      most_bytes: found.SERVICE_MAX_STORED_GB * GIGABYTE,
      most_files: found.SERVICE_MAX_STORED_FILES,
      floor_bytes: found.SERVICE_DISK_FLOOR_GB * GIGABYTE,
    },
  };
}
