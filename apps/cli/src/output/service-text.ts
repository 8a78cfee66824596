import { noteOnCertificate } from "@appdb/contract/control/certificate-note";
import { serviceText } from "@appdb/contract/names";
import type { HostedService } from "@appdb/contract/routes/control-services";
import type { ServiceRecord } from "@appdb/contract/routes/local";
import { alignColumns } from "./columns.ts";
import type { Output } from "./output.ts";
import { showControls } from "./show-controls.ts";

/** A service's name in commands: `main/ingest`, `cloud://acme:main/ingest`. */
export function nameOfService(service: ServiceRecord | HostedService): string {
  return "uri" in service ? service.uri : serviceText(service);
}

/** `main/ingest  http://127.0.0.1:42697  AVAILABLE  pid 7920  app.py`, its error, its routes. */
export function printService(service: ServiceRecord | HostedService, out: Output): void {
  const { error, facts, routes } = "uri" in service ? factsOfHosted(service) : factsOfLocal(service);
  out.line([nameOfService(service), service.endpoint ?? "-", service.state, ...facts].map(showControls).join("  "));
  for (const line of error?.trimEnd().split("\n") ?? []) out.line(`    ${showControls(line)}`);
  const rows = routes.map((route) => [
    route.method.toUpperCase(),
    route.path,
    route.route_type,
    `in: ${route.inputs.join(", ") || "-"}`,
    `out: ${route.outputs.join(", ") || "-"}`,
  ]);
  for (const line of alignColumns(rows)) out.line(`    ${showControls(line)}`);
}

interface ServiceFacts {
  readonly facts: readonly string[];
  readonly error: string | null;
  readonly routes: HostedService["routes"];
}

/** A service without a process yet: its daemon has just started, and starts PostgreSQL first. */
function whyWaits({ pid, restarts, started_at: startedAt, state }: ServiceRecord): readonly string[] {
  const isFirst = state === "STARTING" && pid === null && startedAt === null && restarts === 0;
  return isFirst ? ["waits for the daemon, which is starting"] : [];
}

function factsOfLocal(service: ServiceRecord): ServiceFacts {
  return {
    facts: [...whyWaits(service), ...(service.pid === null ? [] : [`pid ${service.pid}`]), service.app_file],
    error:
      service.error === null
        ? null
        : `error: ${service.error}${service.hint === undefined ? "" : `\nhint: ${service.hint}`}`,
    routes: service.routes,
  };
}

function factsOfHosted(service: HostedService): ServiceFacts {
  const {
    app_file: appFile,
    database,
    failure,
    operation,
    organization,
    reason,
    release,
    update_pending: updatePending,
    workers,
  } = service;
  const next = `cli service update ${appFile} cloud://${organization}:${database}`;
  const error =
    failure === null
      ? null
      : `error: ${failure.detail} (${failure.code})${failure.hint === null ? "" : `\nhint: ${failure.hint}`}`;
  const pending = updatePending ? `the database has newer files or another image: ${next}` : null;
  const notes = [error, reason === failure?.detail ? null : reason, certificateLines(service), pending].filter(
    (note) => note !== null,
  );
  return {
    facts: [
      release === null ? "no release is running" : `release ${release}`,
      `${workers} ${workers === 1 ? "worker" : "workers"}`,
      appFile,
      ...(operation === null ? [] : [`${operation.kind} continues`]),
    ],
    error: notes.length === 0 ? null : notes.join("\n"),
    routes: service.routes,
  };
}

function certificateLines({ certificate }: HostedService): string | null {
  const note = noteOnCertificate(certificate);
  if (note === undefined) return null;
  return note.reasons.length === 0 ? note.text : `${note.text}: ${note.reasons.join("\n")}`;
}
