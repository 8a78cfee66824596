import type { Database } from "@appdb/contract/routes/control-databases";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ProblemAlert } from "../../ui/alert.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Page } from "../../ui/page.tsx";
import { DatabaseStateBadge } from "./database-state.tsx";

/** Explains a database's state in a sentence. Undefined if its failure says more. */
function stateReason({
  state,
  awake_because: awakeBecause,
  wake_on_request: wakeOnRequest,
  sleep_after: sleepAfter,
}: Database): string | undefined {
  switch (state) {
    case "PROVISIONING":
      return "It is being created, and becomes AVAILABLE automatically.";
    case "UPDATING":
      return "An update is being applied. The database becomes AVAILABLE again automatically.";
    case "AVAILABLE":
      return awakeBecause === null ? "It answers." : `Awake: ${awakeBecause}.`;
    case "STOPPING":
      return "Its pod is ending.";
    case "STOPPED":
      return wakeOnRequest
        ? "It sleeps, with all of its data. A request to one of its services wakes it, or you can start it."
        : "It sleeps, with all of its data, until someone starts it.";
    case "STARTING":
      return sleepAfter === "never"
        ? "Its pod is starting."
        : `Its pod is starting. It sleeps again after ${sleepAfter} without use.`;
    case "DELETING":
      return "It is being deleted.";
    case "FAILED":
      return undefined;
  }
}

const TABS = [
  { to: "/orgs/$org/databases/$db", title: "Overview", exact: true },
  { to: "/orgs/$org/databases/$db/tables", title: "Tables", exact: false },
  { to: "/orgs/$org/databases/$db/query", title: "Query", exact: true },
  { to: "/orgs/$org/databases/$db/errors", title: "Failed cells", exact: true },
  { to: "/orgs/$org/databases/$db/lineage", title: "Lineage", exact: true },
  { to: "/orgs/$org/databases/$db/services", title: "Services", exact: false },
  { to: "/orgs/$org/databases/$db/logs", title: "Logs", exact: true },
] as const;

interface DatabaseFrameProps {
  readonly database: Database;
  readonly error: Error | null;
  /** The page's part of the database, for its title: "tables". */
  readonly about?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page of a database: name, state with its reason, and navigation. */
export function DatabaseFrame({ database, error, about, actions, children }: DatabaseFrameProps) {
  const { name, organization, state, uri } = database;
  const reason = stateReason(database);
  return (
    <Page
      title={name}
      about={about}
      badge={
        <span aria-live="polite">
          <DatabaseStateBadge state={state} />
        </span>
      }
      lead={
        <>
          <span className="inline-flex items-center gap-1">
            <code className="text-sm break-all">{uri}</code>
            <CopyButton compact text={uri} what="the address" />
          </span>
          {reason && <span className="block text-sm">{reason}</span>}
        </>
      }
      actions={actions}
    >
      <nav aria-label={`Database ${name}`} className="border-b border-line">
        <ul className="-mb-px flex flex-wrap gap-5">
          {TABS.map((tab) => (
            <li key={tab.to}>
              <Link
                to={tab.to}
                params={{ org: organization, db: name }}
                activeOptions={{ exact: tab.exact, includeSearch: false }}
                className="block border-b-2 border-transparent px-0.5 py-2 text-sm font-medium text-muted hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink"
              >
                {tab.title}
              </Link>
            </li>
          ))}
          <li>
            <Link
              to="/orgs/$org/secrets"
              params={{ org: organization }}
              search={{ db: name }}
              className="block border-b-2 border-transparent px-0.5 py-2 text-sm font-medium text-muted hover:text-ink"
            >
              Secrets
            </Link>
          </li>
        </ul>
      </nav>
      {error && <ProblemAlert error={error} />}
      {children}
    </Page>
  );
}
