import type { Operation, Org } from "@appdb/contract/routes/control";
import { KEYS } from "../../api/queries.ts";
import { useList } from "../../api/use-list.ts";
import { formatDuration } from "../../ui/format.ts";
import { Empty, ListTable } from "../../ui/table.tsx";
import { TextLink } from "../../ui/text-link.tsx";
import { Time } from "../../ui/time.tsx";
import { hasEnded, OperationState } from "./operation-state.tsx";

/** Operations of an organization or of one of its databases. */
export function OperationsTable({ org, database }: { readonly org: Org; readonly database?: string }) {
  const operations = useList(
    [...KEYS.operations(org.name), database ?? ""],
    (api, query, options) =>
      api.control.call("operationList", { params: { org: org.name }, query: { ...query, database } }, options),
    { refresh_ms: (items) => (items.every(hasEnded) ? 5_000 : 1_000) },
  );
  return (
    <ListTable
      caption="Operations, newest first"
      list={operations}
      keyOf={(operation) => operation.id}
      columns={[
        { title: "Requested", cell: (operation) => <Time at={operation.created_at} to="second" /> },
        {
          title: "What",
          names_row: true,
          cell: ({ id, kind, target }) => (
            <>
              <TextLink to="/orgs/$org/operations/$operation" params={{ org: org.name, operation: id }}>
                {kind}
              </TextLink>
              <span className="block font-normal break-words text-muted">{target}</span>
            </>
          ),
        },
        { title: "Who", cell: (operation) => operation.actor },
        {
          title: "Outcome",
          cell: (operation) => (
            <>
              <OperationState state={operation.state} />
              {operation.error && (
                <span className="mt-1 block max-w-80 min-w-48 text-pretty text-muted">{operation.error.detail}</span>
              )}
            </>
          ),
        },
        {
          title: "Duration",
          cell: (operation) => <span className="whitespace-nowrap tabular-nums">{timeOf(operation)}</span>,
        },
      ]}
      empty={<Empty title="No operations yet" />}
    />
  );
}

/** Its duration, so far or in total. */
export function timeOf({ started_at: startedAt, ended_at: endedAt }: Operation): string {
  if (startedAt === null) return "";
  return formatDuration((endedAt === null ? Date.now() : Date.parse(endedAt)) - Date.parse(startedAt));
}
