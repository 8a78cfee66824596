import { type ExactObject, printExact } from "@appdb/contract/clients/exact-json";
import type { DataColumn, DataTable } from "@appdb/contract/routes/data-api";
import { Alert } from "../../ui/alert.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { FullFile } from "../files/file-view.tsx";
import { fileAddress } from "../files/shown-file.ts";
import { cellFailure, cellFile } from "./read-rows.ts";
import { FullValue } from "./value.tsx";

interface RowDialogProps {
  readonly table: DataTable;
  readonly row: ExactObject;
  readonly title?: string;
  readonly onClose: () => void;
  /** Edits the cells of columns. Undefined for rows that cannot be changed. */
  readonly onEdit?: ((columns: readonly DataColumn[]) => void) | undefined;
  readonly onDelete?: (() => void) | undefined;
}

/** A whole row, column by column. */
export function RowDialog({ table, row, title = `A row of ${table.path}`, onClose, onEdit, onDelete }: RowDialogProps) {
  const editable = onEdit === undefined ? [] : table.columns.filter((one) => !one.is_key && !one.is_computed);
  return (
    <Dialog title={title} isWide onClose={onClose}>
      <dl className="grid divide-y divide-line border-y border-line">
        {table.columns.map((column) => (
          <div
            key={column.name}
            className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-5 gap-y-1 py-3 sm:grid-cols-[11rem_minmax(0,1fr)_auto]"
          >
            <dt className="min-w-0 max-sm:col-span-2">
              <code className="text-sm font-medium break-words">{column.name}</code>{" "}
              {column.is_key && <Badge tone="accent">key</Badge>}
              {column.is_computed && <Badge>computed</Badge>}
              <code className="block text-xs break-words text-muted">{column.type}</code>
            </dt>
            <dd className="min-w-0">
              <Value row={row} column={column} />
            </dd>
            <dd className="flex items-start gap-1.5">
              {editable.includes(column) && (
                <Button small aria-label={`Edit ${column.name}`} onClick={() => onEdit?.([column])}>
                  Edit
                </Button>
              )}
              <CopyButton compact text={() => copyText(row, column)} what={`the value of ${column.name}`} />
            </dd>
          </div>
        ))}
      </dl>
      <DialogButtons>
        <CopyJson row={row} />
        {onDelete && (
          <Button look="leads_to_danger" onClick={onDelete}>
            Delete row
          </Button>
        )}
        {editable.length > 0 && <Button onClick={() => onEdit?.(editable)}>Edit row</Button>}
        <Button look="primary" onClick={onClose}>
          Close
        </Button>
      </DialogButtons>
    </Dialog>
  );
}

function CopyJson({ row }: { readonly row: ExactObject }) {
  return (
    <span className="mr-auto inline-flex items-center gap-2 text-sm text-muted">
      The row as JSON
      <CopyButton text={() => printExact(row, 2)} what="the row as JSON" />
    </span>
  );
}

interface ValueProps {
  readonly row: ExactObject;
  readonly column: DataTable["columns"][number];
}

function Value({ row, column: { name, type } }: ValueProps) {
  const failure = cellFailure(row, name);
  if (failure === "pending") return <Badge tone="accent">pending: it is being computed</Badge>;
  if (failure !== undefined) return <Alert kind="warn" title={failure} />;
  const file = cellFile(row, name, type);
  return file === undefined ? <FullValue value={row.get(name)} /> : <FullFile file={file} />;
}

/** A text unchanged, the address of a file, anything else as JSON. */
function copyText(row: ExactObject, { name, type }: ValueProps["column"]): string {
  const file = cellFile(row, name, type);
  if (file !== undefined) return fileAddress(file);
  const value = row.get(name);
  return typeof value === "string" ? value : printExact(value ?? null, 2);
}
