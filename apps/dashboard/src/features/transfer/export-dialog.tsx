import type { Database } from "@appdb/contract/routes/control-databases";
import type { DataTable } from "@appdb/contract/routes/data-api";
import { useEffect, useRef, useState } from "react";
import { useApi } from "../../api/api.tsx";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Select } from "../../ui/field.tsx";
import { plural } from "../../ui/format.ts";
import { saveFile } from "../files/save-file.ts";
import type { RowFilter } from "../tables/use-tables.ts";
import { exportRows } from "./export-rows.ts";
import { EXPORT_FORMATS, type ExportFormat } from "./print-rows.ts";

interface ExportDialogProps {
  readonly database: Database;
  readonly table: DataTable;
  readonly filter: RowFilter;
  readonly onClose: () => void;
}

/** Saves the rows of the filter as a file. Closing it ends the reading. */
export function ExportDialog({ database, table, filter, onClose }: ExportDialogProps) {
  const api = useApi();
  const [format, setFormat] = useState<ExportFormat>("csv");
  const [state, setState] = useState<"idle" | "reading" | "saved">("idle");
  const [read, setRead] = useState(0);
  const [error, setError] = useState<Error | null>(null);
  const ending = useRef<AbortController>(undefined);
  useEffect(() => () => ending.current?.abort(), []);
  const name = `${table.path.replaceAll("/", "-")}.${format}`;
  const run = async () => {
    const controller = new AbortController();
    ending.current = controller;
    setError(null);
    setState("reading");
    setRead(0);
    try {
      const { signal } = controller;
      const texts = await exportRows(api, { database, table, filter, format, signal, onRead: setRead });
      saveFile(texts, { name, type: EXPORT_FORMATS[format].type });
      setState("saved");
    } catch (problem) {
      setState("idle");
      if (!controller.signal.aborted) setError(problem instanceof Error ? problem : new Error(String(problem)));
    }
  };
  return (
    <Dialog title={`Export rows of ${table.path}`} onClose={onClose}>
      {error && <ProblemAlert error={error} />}
      <p className="text-sm text-muted">
        {filter.where === undefined ? "All rows" : <>Rows of the condition {<code>{filter.where}</code>}</>}, in the
        order of the page. Failed cells are empty, and files are their addresses.
      </p>
      <Select
        label="Format"
        value={format}
        disabled={state === "reading"}
        onChange={(event) => {
          setFormat(event.target.value === "jsonl" ? "jsonl" : "csv");
          setState("idle");
        }}
      >
        {Object.entries(EXPORT_FORMATS).map(([value, { title }]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </Select>
      <p role="status" className="text-sm tabular-nums">
        {state === "reading" && `${plural(read, "row")} read ...`}
        {state === "saved" && `${plural(read, "row")} saved as ${name}`}
      </p>
      <DialogButtons>
        <Button onClick={onClose}>{state === "saved" ? "Close" : "Cancel"}</Button>
        <Button look="primary" busy={state === "reading"} onClick={() => void run()}>
          Export
        </Button>
      </DialogButtons>
    </Dialog>
  );
}
