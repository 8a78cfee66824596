import { Counter, Gauge, type Registry } from "prom-client";
import type { HealthProblem } from "../../health/problems.ts";
import type { CertifiedHost } from "./certificate-store.ts";
import type { HostCertificates } from "./host-certificates.ts";

export interface CertificateCounts {
  issued(): void;
  failed(): void;
  /** Problems for the operator, without names of tenants. */
  problems(): HealthProblem[];
}

interface Seen {
  readonly hosts: HostCertificates;
  readonly desiredHosts: readonly CertifiedHost[];
  readonly now: number;
}

/** Counts orders, and hosts with a valid, expired or missing certificate. `see` runs when the metrics are read. */
export function countCertificates(registry: Registry, see: () => Seen): CertificateCounts {
  const registers = [registry];
  const count = () => {
    const { hosts, now, desiredHosts } = see();
    const found = { good: 0, ended: 0, missing: 0 };
    for (const { host } of desiredHosts) {
      const shown = hosts.get(host);
      if (shown === undefined) found.missing += 1;
      else found[shown.ends_at <= now ? "ended" : "good"] += 1;
    }
    return found;
  };
  new Gauge({
    name: "appdb_gateway_certificates",
    help: "Hosts of the gateway by certificate state: valid, expired or missing.",
    labelNames: ["state"],
    registers,
    collect() {
      for (const [state, number] of Object.entries(count())) this.set({ state }, number);
    },
  });
  const ordered = new Counter({
    name: "appdb_gateway_certificate_orders_total",
    help: "Ordered certificates by outcome.",
    labelNames: ["outcome"],
    registers,
  });
  return {
    issued: () => ordered.inc({ outcome: "issued" }),
    failed: () => ordered.inc({ outcome: "failed" }),
    problems() {
      const { ended, missing } = count();
      const problems: HealthProblem[] = [];
      if (ended > 0) {
        problems.push({
          code: "certificate_ended",
          what: `The certificates of ${ended} hosts of the gateway have expired.`,
        });
      }
      if (missing > 0) {
        problems.push({
          code: "certificate_missing",
          what: `${missing} hosts of the gateway have no certificate yet.`,
        });
      }
      return problems;
    },
  };
}
