import type { ExactObject } from "@appdb/contract/clients/exact-json";
import type { Database } from "@appdb/contract/routes/control-databases";
import type { DataColumn, DataTable } from "@appdb/contract/routes/data-api";
import { useState } from "react";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { TextArea } from "../../ui/field.tsx";
import { Form, fieldProblem } from "../../ui/form.tsx";
import { type CellDraft, cellProblem, draftOf, isNullable, isWrittenAsJson, updateBody } from "./cell-draft.ts";
import { readRow } from "./read-rows.ts";
import { keyTexts } from "./row-key.ts";

interface EditRowDialogProps {
  readonly database: Database;
  readonly table: DataTable;
  readonly row: ExactObject;
  /** The cells to edit. */
  readonly columns: readonly DataColumn[];
  readonly onClose: () => void;
  /** Gets the row as the server stored it, with the new values of computed columns. */
  readonly onChanged: (row: ExactObject) => void;
}

/** New values for cells of one row. The page shows what the server stored. */
export function EditRowDialog({ database, table, row, columns, onClose, onChanged }: EditRowDialogProps) {
  const { name, organization } = database;
  const [drafts, setDrafts] = useState(() =>
    Object.fromEntries(columns.map((column) => [column.name, draftOf(row, column)])),
  );
  const key = keyTexts(table, row);
  const update = useAction(
    async (api, sent: string, options) => {
      const params = { org: organization, db: name, table: table.path };
      await api.control.call("rowUpdate", { params, sent }, options);
      return readRow(await api.control.text("rowShow", { params, query: { key: JSON.stringify(key) } }));
    },
    { changes: [KEYS.tables(organization, name)], onDone: onChanged },
  );
  const problemOf = (column: DataColumn): string | undefined => {
    const draft = drafts[column.name];
    return draft === undefined || draft.is_null ? undefined : cellProblem(column, draft.text);
  };
  const body = updateBody(table, row, drafts);
  const isReady = body !== undefined && columns.every((column) => problemOf(column) === undefined);
  const [only] = columns;
  const what = columns.length === 1 && only !== undefined ? `${only.name} of row` : "row";
  return (
    <Dialog title={`Edit ${what} ${key.join(", ")}`} isWide onClose={onClose}>
      <Form
        error={update.error}
        onSubmit={() => {
          if (isReady) update.run(body);
        }}
      >
        {columns.map((column) => (
          <CellField
            key={column.name}
            column={column}
            draft={drafts[column.name] ?? draftOf(row, column)}
            problem={problemOf(column) ?? fieldProblem(update.error, `/rows/0/${column.name}`)}
            onChange={(draft) => setDrafts({ ...drafts, [column.name]: draft })}
          />
        ))}
        <p className="text-sm text-muted">The key stays. The database computes the columns that read these values.</p>
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={update.pending} disabled={!isReady}>
            Save
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}

interface CellFieldProps {
  readonly column: DataColumn;
  readonly draft: CellDraft;
  readonly problem: string | undefined;
  readonly onChange: (draft: CellDraft) => void;
}

function CellField({ column, draft, problem, onChange }: CellFieldProps) {
  const { name, type } = column;
  const isJson = isWrittenAsJson(column);
  return (
    <div className="grid gap-1.5">
      <TextArea
        label={name}
        name={name}
        rows={Math.min(10, Math.max(1, draft.text.split("\n").length))}
        value={draft.text}
        // a new text is a value again
        onChange={(event) => onChange({ text: event.target.value, is_null: false })}
        problem={problem}
        placeholder={draft.is_null ? "null" : undefined}
        help={<code className="text-xs">{type}</code>}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={!isJson}
        className={isJson ? "font-mono text-sm" : "text-sm"}
      />
      {isNullable(column) && (
        <label className="flex items-center gap-2 text-sm">
          <input
            type="checkbox"
            checked={draft.is_null}
            onChange={(event) =>
              onChange({ text: event.target.checked ? "" : draft.text, is_null: event.target.checked })
            }
          />
          {name} is null
        </label>
      )}
    </div>
  );
}
