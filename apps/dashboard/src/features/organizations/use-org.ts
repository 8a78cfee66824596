import { type Permission, roleHas } from "@appdb/contract/permissions";
import type { Org } from "@appdb/contract/routes/control";
import { useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useApi } from "../../api/api.tsx";
import { orgQuery } from "../../api/queries.ts";

/** The organization of the address, loaded before its pages are shown. */
export function useOrg(): Org {
  const { org } = useParams({ from: "/signed-in/orgs/$org" });
  return useSuspenseQuery(orgQuery(useApi(), org)).data;
}

/** Whether the page offers an action. The server checks again. */
export function may(org: Org, permission: Permission): boolean {
  return org.role !== null && roleHas(org.role, permission);
}
