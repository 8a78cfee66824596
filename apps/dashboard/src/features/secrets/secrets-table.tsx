import type { Org, SecretEntry } from "@appdb/contract/routes/control";
import { useState } from "react";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { useList } from "../../api/use-list.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { Empty, ListTable, RowButtons } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { secretScope } from "./secret-scope.ts";
import { SetSecretDialog } from "./set-secret-dialog.tsx";

interface SecretsTableProps {
  readonly org: Org;
  /** The secrets' database. Undefined for the organization's. */
  readonly database: string | undefined;
  readonly writes: boolean;
}

/** Names of secrets and who set them. Values never leave the server. */
export function SecretsTable({ org, database, writes }: SecretsTableProps) {
  const [setting, setSetting] = useState<SecretEntry | undefined>(undefined);
  const [deleting, setDeleting] = useState<SecretEntry | undefined>(undefined);
  const secrets = useList([...KEYS.secrets(org.name), database ?? null], (api, query, options) =>
    database === undefined
      ? api.control.call("secretList", { params: { org: org.name }, query }, options)
      : api.control.call("databaseSecretList", { params: { org: org.name, db: database }, query }, options),
  );
  /** A database's list includes the organization's secrets, which are changed in the organization. */
  const own = (secret: SecretEntry) => (secret.scope === "organization") === (database === undefined);
  return (
    <>
      <ListTable
        caption={database === undefined ? "Secrets of the organization" : `Secrets of the database ${database}`}
        list={secrets}
        keyOf={(secret) => `${secret.scope} ${secret.name}`}
        columns={[
          { title: "Name", names_row: true, cell: (secret) => <code>{secret.name}</code> },
          {
            title: "From",
            cell: (secret) => (
              <span className="inline-flex flex-wrap gap-1.5">
                <Badge tone={secret.scope === "database" ? "accent" : "plain"}>{secret.scope}</Badge>
                {secret.overrides_organization && <Badge>instead of the organization's</Badge>}
              </span>
            ),
          },
          { title: "Set by", cell: (secret) => secret.set_by ?? "someone who was removed" },
          { title: "Set", cell: (secret) => <Time at={secret.updated_at} to="day" /> },
          {
            title: "",
            cell: (secret) =>
              writes && (
                <RowButtons>
                  <Button small look="quiet" onClick={() => setSetting(secret)}>
                    {own(secret) ? "Replace" : "Override"}
                    <span className="sr-only"> {secret.name}</span>
                  </Button>
                  {own(secret) && (
                    <Button small look="quiet" onClick={() => setDeleting(secret)}>
                      Delete<span className="sr-only"> {secret.name}</span>
                    </Button>
                  )}
                </RowButtons>
              ),
          },
        ]}
        empty={<Empty title="No secret yet">For example the key of a provider that your functions call.</Empty>}
      />
      {setting && (
        <SetSecretDialog org={org} database={database} name={setting.name} onClose={() => setSetting(undefined)} />
      )}
      {deleting && (
        <DeleteSecretDialog org={org} database={database} name={deleting.name} onClose={() => setDeleting(undefined)} />
      )}
    </>
  );
}

interface DeleteSecretDialogProps {
  readonly org: Org;
  readonly database: string | undefined;
  readonly name: string;
  readonly onClose: () => void;
}

function DeleteSecretDialog({ org, database, name, onClose }: DeleteSecretDialogProps) {
  const remove = useAction(
    (api, of: string, options) =>
      database === undefined
        ? api.control.call("secretDelete", { params: { org: org.name, name: of } }, options)
        : api.control.call("databaseSecretDelete", { params: { org: org.name, db: database, name: of } }, options),
    { changes: [KEYS.secrets(org.name)], onDone: onClose },
  );
  return (
    <ConfirmDialog
      title={`Delete the secret ${name}?`}
      verb="Delete secret"
      action={remove}
      onConfirm={() => remove.run(name)}
      onClose={onClose}
      command={`cli secret delete ${secretScope(org.name, database)} ${name}`}
    >
      Programs that start afterwards do not get it. Its value cannot be restored.
    </ConfirmDialog>
  );
}
