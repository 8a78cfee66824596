import type { GatewayLimits } from "../../config/config-gateway.ts";
import type { RoutedDatabase, RoutedService } from "../routing/routing-table.ts";
import * as refusals from "./refusals.ts";

type Service = Pick<RoutedService, "id" | "name">;
type Owner = Pick<RoutedDatabase, "org_id">;

/** Counts running requests with a valid key, by service and by organization. */
export interface RequestCounts {
  /** Running requests of all services. */
  readonly total: number;
  /** Counts a request. @throws overloaded */
  begin(owner: Owner, service: Service): void;
  /** Ends the count of a request that `begin` counted. */
  end(owner: Owner, service: Service): void;
}

export function createRequestCounts(limits: Pick<GatewayLimits, "in_flight" | "org_in_flight">): RequestCounts {
  const services = new Map<string, number>();
  const organizations = new Map<string, number>();
  let total = 0;
  return {
    get total() {
      return total;
    },
    begin({ org_id: orgId }, { id, name }) {
      const ofService = services.get(id) ?? 0;
      if (ofService >= limits.in_flight) throw refusals.tooManyAtOnce(name, limits.in_flight);
      const ofOrganization = organizations.get(orgId) ?? 0;
      if (ofOrganization >= limits.org_in_flight) throw refusals.tooManyOfOrganization(limits.org_in_flight);
      services.set(id, ofService + 1);
      organizations.set(orgId, ofOrganization + 1);
      total += 1;
    },
    end({ org_id: orgId }, { id }) {
      countDown(services, id);
      countDown(organizations, orgId);
      total -= 1;
    },
  };
}

/** Decrements a count and removes a name at zero. */
export function countDown(counts: Map<string, number>, name: string): void {
  const remaining = (counts.get(name) ?? 1) - 1;
  if (remaining === 0) counts.delete(name);
  else counts.set(name, remaining);
}
