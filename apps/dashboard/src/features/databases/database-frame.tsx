import type { Database } from "@appdb/contract/routes/control-databases";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ProblemAlert } from "../../ui/alert.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Page } from "../../ui/page.tsx";
import { DatabaseStateBadge } from "./database-state.tsx";
import { stateReason } from "./why.ts";

const TABS = [
  { to: "/orgs/$org/databases/$db", title: "Overview", exact: true },
  { to: "/orgs/$org/databases/$db/tables", title: "Tables", exact: false },
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
