import type { AuditEvent } from "@appdb/contract/routes/control";
import type { List } from "../../api/use-list.ts";
import { Badge } from "../../ui/badge.tsx";
import { Empty, ListTable } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { describeProgram } from "../accounts/describe-program.ts";

const TONES = {
  succeeded: "good",
  refused: "warn",
  failed: "danger",
  pending: "accent",
} as const satisfies Record<AuditEvent["outcome"], "good" | "warn" | "danger" | "accent">;

export function EventsTable({ list }: { readonly list: List<AuditEvent> }) {
  return (
    <ListTable
      caption="Events, newest first"
      list={list}
      keyOf={(event) => event.id}
      columns={[
        { title: "When", cell: (event) => <Time at={event.at} to="second" /> },
        {
          title: "What",
          names_row: true,
          cell: (event) => (
            <>
              <code>{event.action}</code>
              <span className="block max-w-72 font-normal break-words text-muted">{event.target}</span>
              <Details detail={event.detail} />
            </>
          ),
        },
        { title: "Who", cell: (event) => event.actor },
        {
          title: "From",
          cell: (event) => (
            <>
              <code>{event.ip_address ?? "inside"}</code>
              <span className="block max-w-48 truncate text-muted">{clientOf(event)}</span>
            </>
          ),
        },
        { title: "Outcome", cell: (event) => <Badge tone={TONES[event.outcome]}>{event.outcome}</Badge> },
      ]}
      empty={<Empty title="Nothing has happened yet" />}
    />
  );
}

/** A terminal's name and version, or a shortened browser. */
function clientOf({ client }: AuditEvent): string {
  return client === null ? "" : describeProgram(client);
}

/** Other details of the event in one line, without empty ones. */
function Details({ detail }: { readonly detail: AuditEvent["detail"] }) {
  const fields = Object.entries(detail).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  );
  if (fields.length === 0) return null;
  const texts = fields.map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return <span className="block max-w-72 text-xs font-normal break-words text-muted">{texts.join(" · ")}</span>;
}
