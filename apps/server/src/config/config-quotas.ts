import { z } from "zod";

/** Limits of one caller of the control plane. */
export interface ApiBounds {
  /** Requests per second. 0 disables the limit. */
  readonly rate: number;
  /** Maximum concurrent requests, including those that follow a log, events or an operation. */
  readonly max_open: number;
}

const GIGABYTE = 1024 ** 3;

const empty = (value: unknown) => (value === "" ? undefined : value);
const number = (fallback: number, min: number, max: number) =>
  z.preprocess(empty, z.coerce.number().min(min).max(max).default(fallback));
const count = (fallback: number, min: number, max: number) =>
  z.preprocess(empty, z.coerce.number().int().min(min).max(max).default(fallback));
const given = (min: number, max: number) => z.preprocess(empty, z.coerce.number().min(min).max(max).optional());

/** Quotas of one organization and one person, by the names of their environment variables. */
export const quotaSettings = {
  /** Maximum size of an organization's uploads, unpacked project files and images together. */
  SERVICE_MAX_STORED_GB: count(50, 1, 1_048_576),
  /** Maximum number of these files. */
  SERVICE_MAX_STORED_FILES: count(1_000_000, 1_000, 1_000_000_000),
  /** Organizations cannot write when less disk is free. 0 disables the check. */
  SERVICE_DISK_FLOOR_GB: number(1, 0, 1_048_576),
  /** Organizations that a person may create. The server's first account has no limit. */
  SERVICE_ORGS_PER_PERSON: count(3, 1, 1_000_000),
  /** Requests per second of a signed-in caller. 0 disables the limit. */
  SERVICE_API_RATE: count(200, 0, 1_000_000),
  /** Maximum concurrent requests of a caller. */
  SERVICE_API_OPEN_REQUESTS: count(128, 1, 1_000_000),
  /** Maximum resources that the databases of an organization may request together. */
  SERVICE_ORG_CPU: given(0.01, 1_048_576),
  SERVICE_ORG_MEMORY_MB: given(128, 1_073_741_824),
  SERVICE_ORG_DISK_GB: given(1, 1_073_741_824),
} as const;

type Found = z.output<z.ZodObject<typeof quotaSettings>>;

/** Storage limits of an organization. */
export interface StorageBounds {
  readonly max_bytes: number;
  readonly max_files: number;
  /** Free bytes reserved for the control plane. */
  readonly floor_bytes: number;
}

/** Maximum resources that an organization's databases may request together. */
export interface OrgResources {
  readonly cpu: number;
  readonly memory_mb: number;
  readonly disk_gb: number;
}

/** The settings that bound each sum, for error messages. */
export const ORG_SETTINGS = {
  cpu: "SERVICE_ORG_CPU",
  memory_mb: "SERVICE_ORG_MEMORY_MB",
  disk_gb: "SERVICE_ORG_DISK_GB",
} as const satisfies Record<keyof OrgResources, keyof Found>;

export interface QuotasConfig {
  readonly api: ApiBounds;
  readonly orgs_per_person: number;
  /** The operator's limits. Missing ones are derived from the bounds of one database. */
  readonly sums: Partial<OrgResources>;
  readonly storage: StorageBounds;
}

export function toQuotasConfig(found: Found): QuotasConfig {
  const { SERVICE_ORG_CPU: cpu, SERVICE_ORG_DISK_GB: diskGb, SERVICE_ORG_MEMORY_MB: memoryMb } = found;
  return {
    api: { rate: found.SERVICE_API_RATE, max_open: found.SERVICE_API_OPEN_REQUESTS },
    orgs_per_person: found.SERVICE_ORGS_PER_PERSON,
    sums: {
      ...(cpu === undefined ? {} : { cpu }),
      ...(memoryMb === undefined ? {} : { memory_mb: memoryMb }),
      ...(diskGb === undefined ? {} : { disk_gb: diskGb }),
    },
    storage: {
      max_bytes: found.SERVICE_MAX_STORED_GB * GIGABYTE,
      max_files: found.SERVICE_MAX_STORED_FILES,
      floor_bytes: found.SERVICE_DISK_FLOOR_GB * GIGABYTE,
    },
  };
}
