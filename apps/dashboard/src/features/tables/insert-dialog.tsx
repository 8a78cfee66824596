import { type ExactObject, isObject, parseExact } from "@appdb/contract/clients/exact-json";
import type { Database } from "@appdb/contract/routes/control-databases";
import type { DataTable } from "@appdb/contract/routes/data-api";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/api.tsx";
import { KEYS, serviceQuery } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { TextArea } from "../../ui/field.tsx";
import { Form } from "../../ui/form.tsx";
import { TextLink } from "../../ui/text-link.tsx";
import { fileKind } from "../files/shown-file.ts";
import { readRow } from "./read-rows.ts";
import { curlCommand, sampleRow } from "./sample-row.ts";

interface InsertDialogProps {
  readonly database: Database;
  readonly table: DataTable;
  readonly onClose: () => void;
  readonly onInserted: (row: ExactObject) => void;
}

/** A row as JSON, and the program that inserts it. */
export function InsertDialog({ database, table, onClose, onInserted }: InsertDialogProps) {
  const { name, organization } = database;
  const [row, setRow] = useState(() => sampleRow(table));
  const address = useQuery(serviceQuery(useApi())).data?.dashboard_url ?? window.location.origin;
  const insert = useAction(
    async (api, sent: string, options) => {
      const params = { org: organization, db: name, table: table.path };
      return readRow(await api.control.text("rowInsert", { params, sent }, options));
    },
    { changes: [KEYS.tables(organization, name)], onDone: onInserted },
  );
  const problem = rowProblem(row);
  const hasFiles = table.columns.some((column) => !column.is_computed && fileKind(column.type) !== undefined);
  const path = `/v1/orgs/${organization}/databases/${name}/tables/${encodeURIComponent(table.path)}/rows`;
  const curl = curlCommand(address + path, row);
  return (
    <Dialog title={`Insert a row into ${table.path}`} isWide onClose={onClose}>
      <Form
        error={insert.error}
        onSubmit={() => {
          if (problem === undefined) insert.run(row);
        }}
      >
        <TextArea
          label="Row, as JSON"
          name="row"
          rows={Math.min(14, Math.max(5, row.split("\n").length))}
          value={row}
          onChange={(event) => setRow(event.target.value)}
          problem={problem}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          className="font-mono text-sm"
          help={[
            "The database fills in computed columns. Numbers are stored with all digits.",
            hasFiles ? "A file is given by its address. The form of a route uploads files." : "",
          ].join(" ")}
        />
        <div className="grid gap-1.5">
          <div className="flex items-center justify-between gap-3">
            <p className="text-sm font-medium">The same from a program</p>
            <CopyButton text={curl} what="the curl command" />
          </div>
          <pre
            // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
            tabIndex={0}
            className="max-h-52 overflow-auto rounded-md border border-line bg-sunken px-3 py-2.5 text-xs leading-5"
          >
            {curl}
          </pre>
          <p className="text-sm text-muted">
            The key comes from{" "}
            <TextLink to="/orgs/$org/keys" params={{ org: organization }}>
              API keys
            </TextLink>
            .
          </p>
        </div>
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={insert.pending} disabled={problem !== undefined}>
            Insert
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  );
}

/** Problems of the text. The server checks the row. */
function rowProblem(text: string): string | undefined {
  try {
    return isObject(parseExact(text)) ? undefined : 'A row must be a JSON object: {"title": "..."}';
  } catch {
    return "This is not valid JSON yet.";
  }
}
