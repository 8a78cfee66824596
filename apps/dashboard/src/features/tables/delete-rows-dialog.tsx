import type { ExactObject } from "@appdb/contract/clients/exact-json";
import type { Database } from "@appdb/contract/routes/control-databases";
import type { DataTable } from "@appdb/contract/routes/data-api";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { plural } from "../../ui/format.ts";
import { deleteBody, keyTexts } from "./row-key.ts";

/** Keys that the question names. */
const NAMED = 5;

interface DeleteRowsDialogProps {
  readonly database: Database;
  readonly table: DataTable;
  readonly rows: readonly ExactObject[];
  readonly onClose: () => void;
  /** Gets the number of rows that the server deleted. */
  readonly onDeleted: (count: number) => void;
}

/** Asks before rows are deleted. */
export function DeleteRowsDialog({ database, table, rows, onClose, onDeleted }: DeleteRowsDialogProps) {
  const { name, organization, uri } = database;
  const remove = useAction(
    (api, sent: string, options) =>
      api.control.call("rowDelete", { params: { org: organization, db: name, table: table.path }, sent }, options),
    { changes: [KEYS.tables(organization, name)], onDone: ({ deleted }) => onDeleted(deleted) },
  );
  const keys = rows.slice(0, NAMED).map((row) => keyTexts(table, row).join(", "));
  const [only] = rows;
  const command =
    rows.length === 1 && only !== undefined ? deleteCommand(`${uri}/${table.path}`, keyTexts(table, only)) : "";
  return (
    <ConfirmDialog
      title={`Delete ${plural(rows.length, "row")} of ${table.path}?`}
      verb={`Delete ${plural(rows.length, "row")}`}
      action={remove}
      command={command}
      onConfirm={() => remove.run(deleteBody(table, rows))}
      onClose={onClose}
    >
      <p>
        This cannot be undone. Views of the table lose these rows, too:{" "}
        <code className="text-xs break-all">{keys.join("; ")}</code>
        {rows.length > NAMED && ` and ${rows.length - NAMED} more`}
      </p>
    </ConfirmDialog>
  );
}

/** Empty for a key that a shell would change. */
function deleteCommand(table: string, key: readonly string[]): string {
  return key.every((text) => /^[\w.:+-]+$/.test(text)) ? `cli delete ${table} ${key.join(" ")}` : "";
}
