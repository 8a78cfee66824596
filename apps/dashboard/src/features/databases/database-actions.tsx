import type { Org } from "@appdb/contract/routes/control";
import type { Database } from "@appdb/contract/routes/control-databases";
import { type ReactNode, useState } from "react";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { Command } from "../../ui/command.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { may } from "../organizations/use-org.ts";
import { actionsIn, type DatabaseAction } from "./actions.ts";
import { DeleteDatabaseDialog } from "./delete-database-dialog.tsx";
import { useChange } from "./use-change.ts";

interface DatabaseActionsProps {
  readonly org: Org;
  readonly database: Database;
}

/** The actions for the database's current state, each with its command. */
export function DatabaseActions({ org, database }: DatabaseActionsProps) {
  const { state, uri } = database;
  return (
    <ul className="divide-y divide-line rounded-lg border border-line bg-surface">
      {state === "AVAILABLE" && (
        <Item
          what="Applies files, packages, sizes and settings of a project: shows the changes, uploads missing files, and builds the image if necessary. Run it in the project's folder."
          command={`cli db update ${uri}`}
        >
          <p className="text-sm font-medium">Update</p>
        </Item>
      )}
      {actionsIn(state)
        .filter((action) => may(org, action.permission))
        .map((action) => (
          <ActionItem key={action.route} database={database} action={action} />
        ))}
      {state !== "DELETING" && <DeleteItem org={org} database={database} />}
    </ul>
  );
}

function ActionItem({ database, action }: { readonly database: Database; readonly action: DatabaseAction }) {
  const [asking, setAsking] = useState(false);
  const { name, organization, uri } = database;
  const change = useChange(
    database,
    (api, _: undefined, options) =>
      api.control.call(action.route, { params: { org: organization, db: name } }, options),
    () => setAsking(false),
  );
  const run = () => change.run(undefined);
  return (
    <Item what={action.what} command={`cli db ${action.verb} ${uri}`} error={asking ? null : change.error}>
      <Button
        small
        className="w-full"
        busy={change.pending}
        onClick={action.asks === undefined ? run : () => setAsking(true)}
      >
        {action.title}
      </Button>
      {asking && action.asks && (
        <ConfirmDialog
          title={`${action.asks.question} ${name}?`}
          verb={action.title}
          is_harmless
          command={`cli db ${action.verb} ${uri}`}
          action={change}
          onConfirm={run}
          onClose={() => {
            change.reset();
            setAsking(false);
          }}
        >
          {action.asks.warning}
        </ConfirmDialog>
      )}
    </Item>
  );
}

function deleteRefusal(org: DatabaseActionsProps["org"], name: string): string | undefined {
  if (name === "main") return "The database main belongs to the organization and cannot be deleted.";
  return may(org, "database.delete") ? undefined : "Owners and admins of the organization can delete it.";
}

/** Unlike other actions, it explains why it is unavailable. */
function DeleteItem({ org, database }: DatabaseActionsProps) {
  const [deleting, setDeleting] = useState(false);
  const { name, uri } = database;
  const reason = deleteRefusal(org, name);
  if (reason !== undefined) {
    return (
      <Item what={reason}>
        <p className="text-sm font-medium">Delete</p>
      </Item>
    );
  }
  return (
    <Item
      what="Ends its pod at once. Its data stays for some days, during which you can undelete it."
      command={`cli db delete ${uri}`}
    >
      <Button small look="leads_to_danger" className="w-full" onClick={() => setDeleting(true)}>
        Delete
      </Button>
      {deleting && <DeleteDatabaseDialog database={database} onClose={() => setDeleting(false)} />}
    </Item>
  );
}

interface ItemProps {
  readonly what: string;
  readonly command?: string;
  readonly error?: Error | null;
  readonly children: ReactNode;
}

function Item({ what, command, error = null, children }: ItemProps) {
  return (
    <li className="grid gap-x-5 gap-y-2 px-4 py-3.5 sm:grid-cols-[8.5rem_minmax(0,1fr)]">
      <div className="self-start">{children}</div>
      <div className="grid justify-items-start gap-2 text-sm">
        <p className="text-pretty text-muted">{what}</p>
        {command && <Command text={command} />}
        {error && <ProblemAlert error={error} />}
      </div>
    </li>
  );
}
