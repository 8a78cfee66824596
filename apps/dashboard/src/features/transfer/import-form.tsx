import { appError } from "@appdb/contract/errors";
import type { Database } from "@appdb/contract/routes/control-databases";
import type { DataTable } from "@appdb/contract/routes/data-api";
import type { Written } from "@appdb/contract/routes/data-writes";
import { useState } from "react";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { Alert, ProblemAlert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { Field, Select } from "../../ui/field.tsx";
import { Form } from "../../ui/form.tsx";
import { formatBytes, plural } from "../../ui/format.ts";
import { ImportPreview } from "./import-preview.tsx";
import {
  findClash,
  findProblems,
  givenColumns,
  guessMapping,
  type ImportFile,
  type LineProblem,
  type Mapping,
  printImport,
  readImport,
} from "./read-import.ts";

/** Size of a file that the page keeps in memory. */
const MAX_BYTES = 50 * 1024 * 1024;
/** Problems that are listed. */
const LISTED = 20;

interface ImportFormProps {
  readonly database: Database;
  readonly table: DataTable;
}

/** Rows of a file: which columns they fill, the first ones, the errors of lines, and the insert. */
export function ImportForm({ database: { name, organization, uri }, table }: ImportFormProps) {
  const [file, setFile] = useState<ImportFile | undefined>(undefined);
  const [mapping, setMapping] = useState<Mapping>({});
  const [error, setError] = useState<Error | null>(null);
  const [ignores, setIgnores] = useState(false);
  const insert = useAction(
    async (api, sent: string, options): Promise<Written> => {
      const params = { org: organization, db: name, table: table.path };
      const query = { on_error: ignores ? "ignore" : "abort", return_rows: "0" };
      const headers = { "content-type": "application/x-ndjson" };
      return JSON.parse(await api.control.text("rowInsert", { params, query, sent }, { ...options, headers }));
    },
    { changes: [KEYS.tables(organization, name)], onDone: () => setFile(undefined) },
  );
  const choose = async (chosen: File | undefined) => {
    insert.reset();
    setError(null);
    setFile(undefined);
    if (chosen === undefined) return;
    try {
      const read = readImport(chosen.name, await textOf(chosen));
      setMapping(guessMapping(table, read));
      setFile(read);
    } catch (problem) {
      setError(problem instanceof Error ? problem : new Error(String(problem)));
    }
  };
  const problems = file === undefined ? [] : findProblems(table, file, mapping);
  const clash = file === undefined ? undefined : findClash(file, mapping);
  const isEmpty = file !== undefined && Object.values(mapping).every((to) => to === "");
  const isReady =
    file !== undefined && file.records.length > 0 && problems.length === 0 && clash === undefined && !isEmpty;
  return (
    <Form
      className="grid grid-cols-1 gap-5"
      onSubmit={() => {
        if (isReady) insert.run(printImport(table, file, mapping));
      }}
    >
      <Field
        label="File"
        type="file"
        accept=".csv,.tsv,.jsonl,.ndjson,text/csv,application/jsonl"
        className="py-1.5"
        onChange={(event) => void choose(event.target.files?.[0])}
        help={`CSV with a header, or a JSON object per line, at most ${formatBytes(MAX_BYTES)}. For larger files: cli insert ${uri}/${table.path} rows.csv`}
      />
      {error && <ProblemAlert error={error} />}
      {insert.error && <ProblemAlert error={insert.error} />}
      {insert.result && <Imported written={insert.result} />}
      {file !== undefined && file.records.length === 0 && problems.length === 0 && (
        <Alert kind="warn" title={`${file.name} has no rows.`} />
      )}
      {file !== undefined && file.columns.length > 0 && (
        <>
          <fieldset className="grid gap-3">
            <legend className="mb-2 text-base font-semibold">Columns</legend>
            <div className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
              {file.columns.map((column) => (
                <Select
                  key={column}
                  label={column}
                  value={mapping[column] ?? ""}
                  problem={
                    clash !== undefined && mapping[column] === clash ? `Several columns fill ${clash}.` : undefined
                  }
                  onChange={(event) => setMapping({ ...mapping, [column]: event.target.value })}
                >
                  <option value="">leave out</option>
                  {givenColumns(table).map(({ name: to, type }) => (
                    <option key={to} value={to}>
                      {to}: {type}
                    </option>
                  ))}
                </Select>
              ))}
            </div>
          </fieldset>
          <ImportPreview table={table} file={file} mapping={mapping} />
        </>
      )}
      {problems.length > 0 && <Problems problems={problems} />}
      {isEmpty && <Alert kind="warn" title="No column of the file fills a column of the table." />}
      {file !== undefined && (
        <label className="flex items-center gap-2 text-sm">
          <input type="checkbox" checked={ignores} onChange={(event) => setIgnores(event.target.checked)} />
          Store rows whose computed cells fail, with their errors
        </label>
      )}
      <div>
        <Button type="submit" look="primary" busy={insert.pending} disabled={!isReady}>
          {file === undefined ? "Import" : `Import ${plural(file.records.length, "row")}`}
        </Button>
      </div>
    </Form>
  );
}

/** UTF-8 text. @throws usage for a larger file and other encodings */
async function textOf(file: File): Promise<string> {
  if (file.size > MAX_BYTES) {
    throw appError("usage", {
      detail: `${file.name} has ${formatBytes(file.size)}; the maximum is ${formatBytes(MAX_BYTES)}.`,
      hint: "Insert it with cli insert, or divide it.",
    });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch (cause) {
    throw appError("usage", { detail: `${file.name} is not UTF-8.`, hint: "Save it as UTF-8.", cause });
  }
}

function Problems({ problems }: { readonly problems: readonly LineProblem[] }) {
  const more = problems.length > LISTED ? `, the first ${LISTED}:` : ":";
  return (
    <Alert kind="problem" title={`${plural(problems.length, "value")} of the file cannot be stored${more}`}>
      <ul className="list-disc pl-4">
        {problems.slice(0, LISTED).map(({ detail, line }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line can have the same problem twice
          <li key={at}>
            Line {line}: {detail}
          </li>
        ))}
      </ul>
      <p>Correct the file and choose it again, or leave the column out.</p>
    </Alert>
  );
}

function Imported({ written: { errors, inserted } }: { readonly written: Written }) {
  const title = `${plural(inserted, "row")} inserted${errors > 0 ? `, ${plural(errors, "cell")} failed` : ""}.`;
  return <Alert kind={errors > 0 ? "warn" : "good"} title={title} />;
}
