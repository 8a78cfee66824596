import type { ExactObject } from "@appdb/contract/clients/exact-json";
import type { Database } from "@appdb/contract/routes/control-databases";
import type { DataColumn, DataTable } from "@appdb/contract/routes/data-api";
import { useState } from "react";
import { EditRowDialog } from "./edit-row-dialog.tsx";
import { RowDialog } from "./row-dialog.tsx";

interface RowViewProps {
  readonly database: Database;
  readonly table: DataTable;
  readonly row: ExactObject;
  readonly is_writable: boolean;
  readonly onClose: () => void;
  readonly onDelete: (row: ExactObject) => void;
}

/** A row in full, or the form that changes it, and afterwards the row as the server stored it. */
export function RowView({ database, table, row, is_writable: isWritable, onClose, onDelete }: RowViewProps) {
  const [stored, setStored] = useState<ExactObject | undefined>(undefined);
  const [editing, setEditing] = useState<readonly DataColumn[]>([]);
  const shown = stored ?? row;
  if (editing.length > 0) {
    return (
      <EditRowDialog
        database={database}
        table={table}
        row={shown}
        columns={editing}
        onClose={() => setEditing([])}
        onChanged={(changed) => {
          setStored(changed);
          setEditing([]);
        }}
      />
    );
  }
  return (
    <RowDialog
      table={table}
      row={shown}
      {...(stored === undefined ? {} : { title: `Changed row of ${table.path}` })}
      onClose={onClose}
      onEdit={isWritable ? setEditing : undefined}
      onDelete={isWritable ? () => onDelete(shown) : undefined}
    />
  );
}
