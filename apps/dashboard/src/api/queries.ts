import { AppError } from "@appdb/contract/errors";
import { queryOptions } from "@tanstack/react-query";
import type { Api } from "./api.tsx";

/** Keys of shared queries. They start with a noun, so that a change can invalidate related ones. */
export const KEYS = {
  whoami: ["whoami"],
  service: ["service"],
  account: ["account"],
  sessions: ["sessions"],
  orgs: ["orgs"],
  org: (org: string) => ["orgs", org],
  databases: (org: string) => ["orgs", org, "databases"],
  database: (org: string, db: string) => ["orgs", org, "databases", db],
  tables: (org: string, db: string) => ["orgs", org, "databases", db, "tables"],
  table: (org: string, db: string, table: string) => ["orgs", org, "databases", db, "tables", table],
  services: (org: string, db: string) => ["orgs", org, "databases", db, "services"],
  hosted_service: (org: string, db: string, service: string) => ["orgs", org, "databases", db, "services", service],
  releases: (org: string, db: string, service: string) => [
    "orgs",
    org,
    "databases",
    db,
    "services",
    service,
    "releases",
  ],
  service_openapi: (org: string, db: string, service: string) => [
    "orgs",
    org,
    "databases",
    db,
    "services",
    service,
    "openapi",
  ],
  service_traffic: (org: string, db: string, service: string) => [
    "orgs",
    org,
    "databases",
    db,
    "services",
    service,
    "traffic",
  ],
  operations: (org: string) => ["orgs", org, "operations"],
  operation: (org: string, id: string) => ["orgs", org, "operations", id],
  members: (org: string) => ["orgs", org, "members"],
  invitations: (org: string) => ["orgs", org, "invitations"],
  keys: (org: string) => ["orgs", org, "keys"],
  secrets: (org: string) => ["orgs", org, "secrets"],
  events: (org: string) => ["orgs", org, "events"],
  webhooks: (org: string) => ["orgs", org, "webhooks"],
} as const;

export const serviceQuery = (api: Api) =>
  queryOptions({
    queryKey: KEYS.service,
    queryFn: ({ signal }) => api.control.call("service", {}, { signal }),
    staleTime: 60_000,
  });

/** The signed-in person, or null. */
export const whoamiQuery = (api: Api) =>
  queryOptions({
    queryKey: KEYS.whoami,
    queryFn: ({ signal }) =>
      api.control.call("whoami", {}, { signal }).catch((error: unknown) => {
        if (isSignedOut(error)) return null;
        throw error;
      }),
    staleTime: 60_000,
  });

export const accountQuery = (api: Api) =>
  queryOptions({
    queryKey: KEYS.account,
    queryFn: ({ signal }) => api.control.call("accountShow", {}, { signal }),
  });

export const orgQuery = (api: Api, org: string) =>
  queryOptions({
    queryKey: KEYS.org(org),
    queryFn: ({ signal }) => api.control.call("orgShow", { params: { org } }, { signal }),
    staleTime: 10_000,
  });

/** Whether a request had no session, or an ended one. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof AppError && (error.code === "not_signed_in" || error.code === "unauthorized");
}
