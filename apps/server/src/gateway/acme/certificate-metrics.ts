import { Counter, Gauge, type Registry } from "prom-client";
import type { HealthProblem } from "../../health/problems.ts";
import type { CertifiedHost } from "./certificate-store.ts";
import type { HostCertificates } from "./host-certificates.ts";

export interface CertificateCounts {
  issued(): void;
  failed(): void;
  /** What an operator has to know, without a name of a tenant. */
  problems(): HealthProblem[];
}

interface Seen {
  readonly hosts: HostCertificates;
  readonly wanted: readonly CertifiedHost[];
  readonly now: number;
}

/** Counts orders and the hosts that are well, whose certificate has ended, and that have none. `see` is asked when somebody reads. */
export function countCertificates(registry: Registry, see: () => Seen): CertificateCounts {
  const registers = [registry];
  const count = () => {
    const { hosts, now, wanted } = see();
    const found = { good: 0, ended: 0, missing: 0 };
    for (const { host } of wanted) {
      const shown = hosts.get(host);
      if (shown === undefined) found.missing += 1;
      else found[shown.ends_at <= now ? "ended" : "good"] += 1;
    }
    return found;
  };
  new Gauge({
    name: "appdb_gateway_certificates",
    help: "Hosts of the gateway, by whether their certificate is good, has ended or is missing.",
    labelNames: ["state"],
    registers,
    collect() {
      for (const [state, number] of Object.entries(count())) this.set({ state }, number);
    },
  });
  const ordered = new Counter({
    name: "appdb_gateway_certificate_orders_total",
    help: "Certificates that were ordered, by outcome.",
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
          what: `The certificates of ${ended} hosts of the gateway have ended.`,
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
