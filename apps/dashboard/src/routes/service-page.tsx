import { noteOnCertificate } from "@appdb/contract/control/certificate-note";
import type { HostedService } from "@appdb/contract/routes/control-services";
import { getRouteApi, useLocation } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useApi } from "../api/api.tsx";
import { PodsTable } from "../features/databases/pods-table.tsx";
import { downloadLog } from "../features/logs/download-log.ts";
import { LogView } from "../features/logs/log-view.tsx";
import { useLog } from "../features/logs/use-log.ts";
import { may, useOrg } from "../features/organizations/use-org.ts";
import { ReleasesTable } from "../features/services/releases-table.tsx";
import { RoutesTable } from "../features/services/routes-table.tsx";
import { ServiceActions } from "../features/services/service-actions.tsx";
import { ServiceStateBadge } from "../features/services/service-state.tsx";
import { TrafficSection } from "../features/services/traffic-section.tsx";
import { useService } from "../features/services/use-service.ts";
import { Alert, ProblemAlert } from "../ui/alert.tsx";
import { Command } from "../ui/command.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { plural } from "../ui/format.ts";
import { Page, Section } from "../ui/page.tsx";
import { SmallField } from "../ui/small-fields.tsx";
import { TextLink } from "../ui/text-link.tsx";
import { ToggleButton } from "../ui/toggle-button.tsx";

const here = getRouteApi("/signed-in/orgs/$org/databases/$db/services/$service");
const TAIL = 500;
const DOWNLOAD = 10_000;

/** The current state of a service: address, release, log and actions. */
export function ServicePage() {
  const org = useOrg();
  const { service, error } = useService();
  const { database, name, organization, state, uri } = service;
  const mayChange = may(org, "service.update");
  return (
    <Page
      title={name}
      badge={
        <span aria-live="polite">
          <ServiceStateBadge state={state} />
        </span>
      }
      lead={<ServiceLead service={service} />}
      actions={mayChange && <ServiceActions service={service} />}
    >
      <p className="text-sm">
        <TextLink to="/orgs/$org/databases/$db/services" params={{ org: organization, db: database }}>
          All services of {database}
        </TextLink>
      </p>
      {error && <ProblemAlert error={error} />}
      <ServiceNotes service={service} />
      <Section title="Routes" actions={<Command text={`cli service list cloud://${organization}:${database}`} />}>
        <RoutesTable service={service} />
      </Section>
      <TrafficSection service={service} />
      <Section title="Releases" actions={<Command text={`cli service releases ${uri}`} />}>
        <ReleasesTable service={service} may_change={mayChange} />
      </Section>
      <Section title="Pods">
        <PodsTable pods={service.pods} is_asleep={state === "STOPPED"} />
      </Section>
      <ServiceLog service={service} />
    </Page>
  );
}

function ServiceLead({
  service: { app_file: appFile, endpoint, release, uri, workers },
}: {
  readonly service: HostedService;
}) {
  const runs = release === null ? "nothing runs" : `release ${release} of ${appFile}, ${plural(workers, "worker")}`;
  return (
    <>
      <span className="inline-flex items-center gap-1">
        <code className="text-sm break-all">{endpoint ?? uri}</code>
        <CopyButton compact text={endpoint ?? uri} what="the address" />
      </span>
      <span className="block text-sm">{runs}</span>
    </>
  );
}

function ServiceNotes({ service }: { readonly service: HostedService }) {
  const {
    app_file: appFile,
    certificate,
    database,
    failure,
    organization,
    reason,
    update_pending: updatePending,
  } = service;
  const note = noteOnCertificate(certificate);
  return (
    <>
      {failure && (
        <Alert kind="problem" title={failure.detail}>
          {failure.hint && <p>{failure.hint}</p>}
        </Alert>
      )}
      {reason && !failure && <Alert kind="note" title={reason} />}
      {note && (
        <Alert kind={note.is_down ? "problem" : "note"} title={note.text}>
          {note.reasons.map((line) => (
            <p key={line}>{line}</p>
          ))}
        </Alert>
      )}
      {updatePending && (
        <Alert kind="note" title="The database has newer project files or another image than the running release">
          <p>
            <Command text={`cli service update ${appFile} cloud://${organization}:${database}`} />
          </p>
        </Alert>
      )}
    </>
  );
}

function ServiceLog({ service }: { readonly service: HostedService }) {
  const { control } = useApi();
  const [following, setFollowing] = useState(true);
  const { text: search = "" } = here.useSearch();
  const navigate = here.useNavigate();
  const setSearch = (text: string) =>
    void navigate({
      search: (before) => ({ ...before, text }),
      replace: true,
      resetScroll: false,
    });
  const [downloadError, setDownloadError] = useState<Error | null>(null);
  const { database, name, organization, uri } = service;
  const params = { org: organization, db: database, service: name };
  const log = useLog({
    key: [uri, following].join(" "),
    is_numbered: false,
    is_live: following,
    open: (client, _, signal) =>
      client.lines("serviceLogs", { params, query: { tail: TAIL, follow: following ? "1" : "0" } }, signal),
  });
  const exists = log.lines.length > 0;
  const hash = useLocation({ select: (location) => location.hash });
  // a link to the log scrolls to it once the content above has its height
  useEffect(() => {
    if (exists && hash === "log") document.getElementById("log")?.scrollIntoView();
  }, [exists, hash]);
  const download = () => {
    setDownloadError(null);
    const lines = control.lines("serviceLogs", { params, query: { tail: DOWNLOAD } }, new AbortController().signal);
    downloadLog(lines, `${organization}-${database}-${name.replaceAll("/", "-")}.log`).catch(setDownloadError);
  };
  return (
    <Section id="log" title="Log" actions={<Command text={`cli service logs ${uri}${following ? " -f" : ""}`} />}>
      {downloadError && <ProblemAlert error={downloadError} />}
      <LogView
        label="Log of the service"
        log={log}
        search={search}
        empty="The service has no output."
        onDownload={download}
        tools={
          <>
            <SmallField
              label="With the text"
              type="search"
              className="w-44"
              value={search}
              onChange={(event) => setSearch(event.target.value)}
            />
            <ToggleButton
              small
              pressed={following}
              works={log.error === null}
              onToggle={() => setFollowing(!following)}
            >
              Follow
            </ToggleButton>
          </>
        }
      />
    </Section>
  );
}
