import type { Database } from "@appdb/contract/routes/control-databases";
import { Badge } from "../../ui/badge.tsx";
import { Command } from "../../ui/command.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Empty, ListTable } from "../../ui/table.tsx";
import { TextLink } from "../../ui/text-link.tsx";
import { ServiceStateBadge } from "./service-state.tsx";
import { useServices } from "./use-service.ts";

export function ServicesTable({ database }: { readonly database: Database }) {
  const { name, organization, uri } = database;
  return (
    <ListTable
      caption="Services"
      list={useServices(organization, name)}
      keyOf={(service) => service.id}
      columns={[
        {
          title: "Service",
          names_row: true,
          cell: (service) => (
            <TextLink
              to="/orgs/$org/databases/$db/services/$service"
              params={{ org: organization, db: name, service: service.name }}
            >
              {service.name}
            </TextLink>
          ),
        },
        {
          title: "State",
          cell: ({ reason, state, update_pending: updatePending }) => (
            <>
              <span className="flex flex-wrap gap-1.5">
                <ServiceStateBadge state={state} />
                {updatePending && <Badge tone="warn">update pending</Badge>}
              </span>
              {reason && <span className="mt-1 block max-w-80 min-w-48 text-pretty text-muted">{reason}</span>}
            </>
          ),
        },
        {
          title: "Address",
          cell: ({ endpoint }) =>
            endpoint && (
              <span className="inline-flex items-center gap-1">
                <code className="min-w-44 text-xs break-all">{endpoint}</code>
                <CopyButton compact text={endpoint} what="the address" />
              </span>
            ),
        },
        { title: "Routes", align_right: true, cell: ({ routes }) => routes.length },
        { title: "Release", align_right: true, cell: ({ release }) => release ?? "none" },
        {
          title: "",
          align_right: true,
          cell: ({ endpoint, name: service, routes }) =>
            endpoint !== null &&
            routes.length > 0 && (
              <TextLink
                to="/orgs/$org/databases/$db/services/$service/call"
                params={{ org: organization, db: name, service }}
                aria-label={`Call ${service}`}
              >
                Call
              </TextLink>
            ),
        },
      ]}
      empty={
        <Empty title="No service yet">
          <div className="grid justify-items-center gap-3">
            <p>Services come from an application file, once its tables exist. In the project's folder, run:</p>
            <Command text={`cli service update app.py ${uri}`} />
          </div>
        </Empty>
      }
    />
  );
}
