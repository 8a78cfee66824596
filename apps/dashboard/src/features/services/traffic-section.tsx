import type { HostedService, ServiceTraffic } from "@appdb/contract/routes/control-services";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useApi } from "../../api/api.tsx";
import { KEYS } from "../../api/queries.ts";
import { ProblemAlert } from "../../ui/alert.tsx";
import { BarChart, LineChart } from "../../ui/chart.tsx";
import { formatCount, plural } from "../../ui/format.ts";
import { Card, Section } from "../../ui/page.tsx";
import { SmallSelect } from "../../ui/small-fields.tsx";
import { ListTable, Loading } from "../../ui/table.tsx";
import { formatMs } from "./format-ms.ts";

const REFRESH_MS = 3_000;
const PERIODS = [
  { title: "15 minutes", minutes: 15 },
  { title: "hour", minutes: 60 },
  { title: "3 hours", minutes: 180 },
] as const;

const here = getRouteApi("/signed-in/orgs/$org/databases/$db/services/$service");

/** Number, results and latency of the service's requests, in total or for one route. */
export function TrafficSection({ service }: { readonly service: HostedService }) {
  const { database, name, organization } = service;
  const { control } = useApi();
  const search = here.useSearch();
  const navigate = here.useNavigate();
  const { minutes } = PERIODS.find((one) => String(one.minutes) === search.minutes) ?? PERIODS[1];
  const traffic = useQuery({
    queryKey: [...KEYS.service_traffic(organization, database, name), minutes, search.of],
    queryFn: ({ signal }) =>
      control.call(
        "serviceTraffic",
        { params: { org: organization, db: database, service: name }, query: { minutes, route: search.of } },
        { signal },
      ),
    refetchInterval: REFRESH_MS,
    placeholderData: (before) => before,
  });
  const change = (changed: Partial<typeof search>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true, resetScroll: false });
  const titles = new Set([
    ...service.routes.map(({ method, path }) => `${method} ${path}`),
    ...(search.of === undefined ? [] : [search.of]),
  ]);
  return (
    <Section
      title="Requests"
      actions={
        <div className="flex flex-wrap gap-2.5">
          <SmallSelect
            label="To"
            className="max-w-48"
            value={search.of ?? ""}
            onChange={(event) => change({ of: event.target.value })}
          >
            <option value="">all routes</option>
            {[...titles].map((title) => (
              <option key={title}>{title}</option>
            ))}
          </SmallSelect>
          <SmallSelect
            label="In the last"
            value={minutes}
            onChange={(event) => change({ minutes: event.target.value })}
          >
            {PERIODS.map((one) => (
              <option key={one.minutes} value={one.minutes}>
                {one.title}
              </option>
            ))}
          </SmallSelect>
        </div>
      }
    >
      {traffic.error && <ProblemAlert error={traffic.error} />}
      {!traffic.error && traffic.data === undefined && <Loading />}
      {!traffic.error && traffic.data && <TrafficView traffic={traffic.data} />}
    </Section>
  );
}

type Measured = ServiceTraffic["total"];

function TrafficView({ traffic: { minutes, routes, total } }: { readonly traffic: ServiceTraffic }) {
  const clock = (at: string | undefined) => (at === undefined ? "" : CLOCK.format(new Date(at)));
  const ends = [clock(minutes[0]?.at), "now"] as const;
  return (
    <div className="grid grid-cols-1 gap-3">
      <div className="grid grid-cols-1 gap-3 lg:grid-cols-2">
        <Card>
          <BarChart
            title="Requests per minute"
            summary={`${plural(total.requests, "request")} in ${minutes.length} minutes, ${errorsOf(total)}`}
            format={formatCount}
            ends={ends}
            parts={[
              { name: "answered", tone: "accent" },
              { name: "refused", tone: "warn" },
              { name: "failed", tone: "danger" },
            ]}
            bars={minutes.map((minute) => ({
              key: minute.at,
              title: `${clock(minute.at)}: ${plural(minute.requests, "request")}, ${errorsOf(minute)}`,
              values: [
                minute.requests - minute.client_errors - minute.server_errors,
                minute.client_errors,
                minute.server_errors,
              ],
            }))}
          />
        </Card>
        <Card>
          <LineChart
            title="Latency"
            summary={`50 % within ${formatMs(total.p50_ms)}, 95 % within ${formatMs(total.p95_ms)}, 99 % within ${formatMs(total.p99_ms)}`}
            format={formatMs}
            ends={ends}
            lines={[
              { name: "p50", tone: "accent", dashes: undefined, values: minutes.map(({ p50_ms: p50Ms }) => p50Ms) },
              { name: "p95", tone: "warn", dashes: "7 4", values: minutes.map(({ p95_ms: p95Ms }) => p95Ms) },
              { name: "p99", tone: "danger", dashes: "1 5", values: minutes.map(({ p99_ms: p99Ms }) => p99Ms) },
            ]}
          />
        </Card>
      </div>
      <NumbersTable
        caption="Requests by route"
        rows={routes.map((route) => ({ ...route, key: route.route ?? "", title: route.route ?? "other paths" }))}
        first="Route"
        empty="No requests yet."
      />
      <details className="text-sm">
        <summary className="w-max rounded font-medium">By minute</summary>
        <div className="mt-2">
          <NumbersTable
            caption="Requests by minute"
            rows={minutes
              .filter(({ requests }) => requests > 0)
              .map((minute) => ({ ...minute, key: minute.at, title: clock(minute.at) }))
              .reverse()}
            first="Minute"
            empty="No requests in this time."
          />
        </div>
      </details>
    </div>
  );
}

interface NumbersTableProps {
  readonly caption: string;
  readonly rows: readonly (Measured & { readonly key: string; readonly title: string })[];
  /** The header of the first column. */
  readonly first: string;
  readonly empty: ReactNode;
}

function NumbersTable({ caption, rows, first, empty }: NumbersTableProps) {
  const number = (title: string, cell: (row: Measured) => ReactNode) => ({
    title,
    align_right: true,
    cell: (row: Measured) => <span className="whitespace-nowrap tabular-nums">{cell(row)}</span>,
  });
  return (
    <ListTable
      caption={caption}
      list={{ items: rows, error: null, more: undefined, loading_more: false }}
      keyOf={({ key }) => key}
      columns={[
        { title: first, names_row: true, cell: ({ title }) => <span className="whitespace-nowrap">{title}</span> },
        number("Requests", ({ requests }) => formatCount(requests)),
        number("Refused", ({ client_errors: clientErrors, requests }) => shareOf(clientErrors, requests)),
        number("Failed", ({ requests, server_errors: serverErrors }) => shareOf(serverErrors, requests)),
        number("p50", ({ p50_ms: p50Ms }) => formatMs(p50Ms)),
        number("p95", ({ p95_ms: p95Ms }) => formatMs(p95Ms)),
        number("p99", ({ p99_ms: p99Ms }) => formatMs(p99Ms)),
      ]}
      empty={<p className="text-center text-sm text-muted">{empty}</p>}
    />
  );
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

function errorsOf({ client_errors: clientErrors, server_errors: serverErrors }: Measured): string {
  return `${formatCount(clientErrors)} refused, ${formatCount(serverErrors)} failed`;
}

/** `12 (0.4 %)` */
function shareOf(count: number, all: number): string {
  if (count === 0) return "0";
  const share = (count / all) * 100;
  return `${formatCount(count)} (${share < 0.1 ? "<0.1" : share.toFixed(1).replace(/\.0$/, "")} %)`;
}
