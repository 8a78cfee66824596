import { useState } from "react";
import { KEYS } from "../api/queries.ts";
import { useList } from "../api/use-list.ts";
import { CreateOrganizationDialog } from "../features/organizations/create-organization-dialog.tsx";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { PlusIcon } from "../ui/icons.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, ListTable } from "../ui/table.tsx";
import { TextLink } from "../ui/text-link.tsx";
import { Time } from "../ui/time.tsx";
import { MainColumn } from "./signed-in-layout.tsx";

export function OrganizationsPage() {
  const [creating, setCreating] = useState(false);
  const orgs = useList(KEYS.orgs, (api, query, options) => api.control.call("orgList", { query }, options));
  const create = (
    <Button look="primary" onClick={() => setCreating(true)}>
      <PlusIcon />
      Create organization
    </Button>
  );
  return (
    <MainColumn>
      <Page
        title="Organizations"
        lead="Databases, keys and secrets belong to an organization, with the people who work on them."
        actions={orgs.items !== undefined && orgs.items.length > 0 && create}
      >
        <ListTable
          caption="Organizations"
          list={orgs}
          keyOf={(org) => org.id}
          columns={[
            {
              title: "Name",
              names_row: true,
              cell: (org) => (
                <>
                  <TextLink to="/orgs/$org" params={{ org: org.name }}>
                    {org.name}
                  </TextLink>
                  {org.display_name !== org.name && <span className="block text-muted">{org.display_name}</span>}
                </>
              ),
            },
            { title: "Your role", cell: (org) => <Badge>{org.role ?? "none"}</Badge> },
            { title: "Databases", cell: (org) => `${org.databases} of ${org.database_quota}` },
            { title: "Created", cell: (org) => <Time at={org.created_at} to="day" /> },
          ]}
          empty={
            <Empty title="No organization yet">
              <p className="mb-4">
                Create one; it comes with a database named main. Or open the link of an invitation.
              </p>
              {create}
            </Empty>
          }
        />
      </Page>
      {creating && <CreateOrganizationDialog onClose={() => setCreating(false)} />}
    </MainColumn>
  );
}
