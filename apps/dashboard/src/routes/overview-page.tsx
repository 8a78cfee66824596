import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../api/api.tsx";
import { KEYS, serviceQuery } from "../api/queries.ts";
import { useList } from "../api/use-list.ts";
import { CreateDatabaseDialog } from "../features/databases/create-database-dialog.tsx";
import { refreshMs } from "../features/databases/database-state.tsx";
import { DatabasesTable } from "../features/databases/databases-table.tsx";
import { CallServices, FirstSteps } from "../features/databases/first-steps.tsx";
import { DisplayNameForm } from "../features/organizations/display-name-form.tsx";
import { may, useOrg } from "../features/organizations/use-org.ts";
import { useServices } from "../features/services/use-service.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Command } from "../ui/command.tsx";
import { PlusIcon } from "../ui/icons.tsx";
import { Card, Page, Section } from "../ui/page.tsx";
import { Time } from "../ui/time.tsx";

export function OverviewPage() {
  const org = useOrg();
  const [creating, setCreating] = useState(false);
  const databases = useList(
    KEYS.databases(org.name),
    (api, query, options) => api.control.call("databaseList", { params: { org: org.name }, query }, options),
    // the first database is about to be created
    { refresh_ms: (items) => (items.length === 0 ? 1_000 : refreshMs(items)) },
  );
  const address = useQuery(serviceQuery(useApi())).data?.dashboard_url;
  const main = databases.items?.find((database) => database.name === "main");
  const services = useServices(org.name, "main", main !== undefined).items;
  const callable = services?.filter(({ endpoint, routes }) => endpoint !== null && routes.length > 0) ?? [];
  const isUnused = databases.items !== undefined && (main === undefined || services?.length === 0);
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
      <Section
        title="Databases"
        actions={
          <div className="flex items-center gap-3">
            <p className="text-sm text-muted">
              {databases.items?.length ?? org.databases} of {org.database_quota}
            </p>
            {may(org, "database.update") && (
              <Button small onClick={() => setCreating(true)}>
                <PlusIcon />
                Create database
              </Button>
            )}
          </div>
        }
      >
        <DatabasesTable list={databases} />
        <p>
          <Command text={`cli db list --org ${org.name}`} />
        </p>
      </Section>
      {callable.length > 0 && (
        <Section title="Call a route">
          <CallServices services={callable} />
        </Section>
      )}
      <Section title={isUnused ? "Next steps" : "From a terminal"}>
        {main?.state === "PROVISIONING" && (
          <p className="text-sm text-muted">The database main is being created, and becomes AVAILABLE automatically.</p>
        )}
        <FirstSteps
          server={address ?? window.location.origin}
          uri={isUnused ? databaseUriOf(org.name, "main") : undefined}
        />
      </Section>
      {may(org, "org.update") && (
        <Section title="Settings">
          <Card>
            <DisplayNameForm key={org.etag} org={org} />
          </Card>
        </Section>
      )}
      {creating && <CreateDatabaseDialog org={org} onClose={() => setCreating(false)} />}
    </Page>
  );
}
