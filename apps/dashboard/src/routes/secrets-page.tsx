import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { KEYS } from "../api/queries.ts";
import { useList } from "../api/use-list.ts";
import { may, useOrg } from "../features/organizations/use-org.ts";
import { secretScope } from "../features/secrets/secret-scope.ts";
import { SecretsTable } from "../features/secrets/secrets-table.tsx";
import { SetSecretDialog } from "../features/secrets/set-secret-dialog.tsx";
import { Button } from "../ui/button.tsx";
import { Command } from "../ui/command.tsx";
import { PlusIcon } from "../ui/icons.tsx";
import { Page } from "../ui/page.tsx";

const route = getRouteApi("/signed-in/orgs/$org/secrets");

/** Write-only values for programs, of the organization or of one database. */
export function SecretsPage() {
  const org = useOrg();
  const { db } = route.useSearch();
  const [setting, setSetting] = useState(false);
  const databases = useList(KEYS.databases(org.name), (api, query, options) =>
    api.control.call("databaseList", { params: { org: org.name }, query }, options),
  );
  const writes = may(org, "secret.write");
  return (
    <Page
      title="Secrets"
      lead="Values such as provider keys. They are stored encrypted, passed to the programs of a database, and never shown again."
      actions={
        writes && (
          <Button look="primary" onClick={() => setSetting(true)}>
            <PlusIcon />
            Set secret
          </Button>
        )
      }
    >
      <nav aria-label="Whose secrets" className="border-b border-line">
        <ul className="-mb-px flex flex-wrap gap-5">
          <ScopeLink org={org.name} db={undefined} current={db === undefined} title="Organization" />
          {databases.items?.map(({ id, name }) => (
            <ScopeLink key={id} org={org.name} db={name} current={db === name} title={`Database ${name}`} />
          ))}
        </ul>
      </nav>
      <p className="-mt-2 text-sm text-muted">
        {db === undefined
          ? "Every database of the organization gets these, unless it has its own secret of the same name."
          : `Programs of ${db} get the organization's secrets and the database's own, which have priority. A running service reads a changed secret when it is restarted.`}
      </p>
      <SecretsTable key={db ?? ""} org={org} database={db} writes={writes} />
      <p>
        <Command text={`cli secret list ${secretScope(org.name, db)}`} />
      </p>
      {setting && <SetSecretDialog org={org} database={db} onClose={() => setSetting(false)} />}
    </Page>
  );
}

interface ScopeLinkProps {
  readonly org: string;
  readonly db: string | undefined;
  readonly current: boolean;
  readonly title: string;
}

function ScopeLink({ org, db, current, title }: ScopeLinkProps) {
  return (
    <li>
      <Link
        to="/orgs/$org/secrets"
        params={{ org }}
        search={db === undefined ? {} : { db }}
        activeOptions={{ exact: true }}
        aria-current={current ? "page" : undefined}
        className="block border-b-2 border-transparent px-0.5 py-2 text-sm font-medium text-muted hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink"
      >
        {title}
      </Link>
    </li>
  );
}
