import type { HostedService } from "@appdb/contract/routes/control-services";
import { Empty, ListTable } from "../../ui/table.tsx";
import { TextLink } from "../../ui/text-link.tsx";

/** The routes of a service, with links to their forms. */
export function RoutesTable({ service }: { readonly service: HostedService }) {
  const params = { org: service.organization, db: service.database, service: service.name };
  return (
    <ListTable
      caption="Routes"
      list={{ items: service.routes, error: null, more: undefined, loading_more: false }}
      keyOf={({ method, path }) => `${method} ${path}`}
      columns={[
        {
          title: "Route",
          names_row: true,
          cell: ({ method, path }) => (
            <code className="text-xs whitespace-nowrap">
              {method} {path}
            </code>
          ),
        },
        { title: "Kind", cell: ({ route_type: routeType }) => routeType },
        { title: "Takes", cell: ({ inputs }) => inputs.join(", ") },
        { title: "Answers", cell: ({ outputs }) => outputs.join(", ") },
        {
          title: "",
          align_right: true,
          cell: ({ method, path }) =>
            service.endpoint !== null && (
              <TextLink
                to="/orgs/$org/databases/$db/services/$service/call"
                params={params}
                search={{ route: `${method} ${path}` }}
                aria-label={`Call ${method} ${path}`}
              >
                Call
              </TextLink>
            ),
        },
      ]}
      empty={<Empty title="It has no routes" />}
    />
  );
}
