import type { HostedService } from "@appdb/contract/routes/control-services";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useApi } from "../api/api.tsx";
import { KEYS } from "../api/queries.ts";
import { CallForm } from "../features/services/call-form.tsx";
import { readRouteForm } from "../features/services/route-form.ts";
import { ServiceStateBadge } from "../features/services/service-state.tsx";
import { useService } from "../features/services/use-service.ts";
import { Alert, ProblemAlert } from "../ui/alert.tsx";
import { Select } from "../ui/field.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Loading } from "../ui/table.tsx";
import { TextLink } from "../ui/text-link.tsx";

const here = getRouteApi("/signed-in/orgs/$org/databases/$db/services/$service/call");

/** Calls a route of a service like a client, and shows the answer. */
export function CallPage() {
  const { service, error } = useService();
  const { database, name, organization, routes, state } = service;
  const search = here.useSearch();
  const navigate = here.useNavigate();
  const route = routes.find((route) => titleOf(route) === search.route) ?? routes[0];
  return (
    <Page
      title={name}
      about="call a route"
      badge={
        <span aria-live="polite">
          <ServiceStateBadge state={state} />
        </span>
      }
      lead="The gateway handles the request like any client's. The key decides what it may do."
    >
      <p className="text-sm">
        <TextLink
          to="/orgs/$org/databases/$db/services/$service"
          params={{ org: organization, db: database, service: name }}
        >
          The service {name}
        </TextLink>
      </p>
      {error && <ProblemAlert error={error} />}
      {route === undefined ? (
        <Empty title="It has no routes" />
      ) : (
        <>
          <Select
            label="Route"
            className="max-w-xl font-mono text-sm"
            value={titleOf(route)}
            onChange={(event) => void navigate({ search: { route: event.target.value }, replace: true })}
          >
            {routes.map((route) => (
              <option key={titleOf(route)}>{titleOf(route)}</option>
            ))}
          </Select>
          <RouteCall key={titleOf(route)} service={service} route={route} />
        </>
      )}
    </Page>
  );
}

type Route = HostedService["routes"][number];

function titleOf({ method, path }: Pick<Route, "method" | "path">): string {
  return `${method} ${path}`;
}

function RouteCall({ service, route }: { readonly service: HostedService; readonly route: Route }) {
  const { database, endpoint, name, organization, release } = service;
  const { control } = useApi();
  const described = useQuery({
    queryKey: [...KEYS.service_openapi(organization, database, name), release],
    queryFn: ({ signal }) =>
      control.call("serviceOpenapi", { params: { org: organization, db: database, service: name } }, { signal }),
    staleTime: 60_000,
  });
  if (described.error) return <ProblemAlert error={described.error} />;
  if (described.data === undefined) return <Loading />;
  if (endpoint === null) return <Alert kind="note" title="No gateway serves it, so it has no address yet." />;
  const form = readRouteForm(described.data, route);
  return (
    <>
      {form.summary !== "" && <p className="text-pretty text-muted">{form.summary}</p>}
      <CallForm service={service} endpoint={endpoint} form={form} />
    </>
  );
}
