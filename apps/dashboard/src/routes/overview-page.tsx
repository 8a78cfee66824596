import { useQuery } from "@tanstack/react-query";
import { useApi } from "../api/api.tsx";
import { KEYS, serviceQuery } from "../api/queries.ts";
import { useList } from "../api/use-list.ts";
import { DatabaseState, isSettled } from "../features/organizations/database-state.tsx";
import { DisplayNameForm } from "../features/organizations/display-name-form.tsx";
import { may, useOrg } from "../features/organizations/use-org.ts";
import { Badge } from "../ui/badge.tsx";
import { CopyField } from "../ui/copy-button.tsx";
import { Card, Page, Section } from "../ui/page.tsx";
import { Empty, ListTable } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

/** How often states are read again while something is under way. */
const REFRESH_MS = 5_000;

export function OverviewPage() {
  const org = useOrg();
  const databases = useList(
    KEYS.databases(org.name),
    (api, query, options) => api.control.call("databaseList", { params: { org: org.name }, query }, options),
    { refresh_ms: REFRESH_MS },
  );
  const address = useQuery(serviceQuery(useApi())).data?.dashboard_url;
  const moving = databases.items?.some((database) => !isSettled(database.state));
  return (
    <Page
      title={org.display_name}
      lead={
        <>
          You are <Badge>{org.role ?? "a guest"}</Badge> of <code>{org.name}</code>, created{" "}
          <Time at={org.created_at} to="day" />.
        </>
      }
    >
      <Section title="Databases" actions={<Quota used={org.databases} quota={org.database_quota} />}>
        <ListTable
          caption="Databases"
          list={databases}
          keyOf={(database) => database.id}
          columns={[
            { title: "Name", names_row: true, cell: (database) => database.name },
            { title: "Address", cell: (database) => <code>{database.uri}</code> },
            { title: "State", cell: (database) => <DatabaseState state={database.state} /> },
            { title: "Created", cell: (database) => <Time at={database.created_at} to="day" /> },
          ]}
          empty={<Empty title="No database yet">The first one, main, is made by the service.</Empty>}
        />
        {moving && <p className="text-sm text-muted">States are read again every {REFRESH_MS / 1_000} seconds.</p>}
      </Section>
      <Section title="From a terminal">
        <Card>
          <div className="grid gap-4">
            <p className="text-sm text-muted">
              Sign in there by a code that is confirmed here, and work on the databases.
            </p>
            <CopyField
              label="Sign in"
              what="the command that signs in"
              text={`cli login --server ${address ?? window.location.origin}`}
            />
          </div>
        </Card>
      </Section>
      {may(org, "org.update") && (
        <Section title="Settings">
          <Card>
            <DisplayNameForm key={org.etag} org={org} />
          </Card>
        </Section>
      )}
    </Page>
  );
}

function Quota({ used, quota }: { readonly used: number; readonly quota: number }) {
  return (
    <p className="text-sm text-muted">
      {used} of {quota} databases
    </p>
  );
}
