import type { Database } from "@appdb/contract/routes/control-databases";
import type { DataTable } from "@appdb/contract/routes/data-api";
import type { Progress } from "@appdb/contract/routes/local";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/api.tsx";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { Alert, ProblemAlert } from "../../ui/alert.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { formatCount, plural } from "../../ui/format.ts";
import { Meter } from "../../ui/meter.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, ListTable } from "../../ui/table.tsx";
import { TextLink } from "../../ui/text-link.tsx";
import { readErrors } from "./read-errors.ts";

/** Cells listed of a table. */
const LISTED = 50;

interface FailedTableProps {
  readonly database: Database;
  readonly table: DataTable;
  /** Whether the person may compute cells again. */
  readonly is_retryable: boolean;
}

/** The failed cells of one table: which columns, why, and a retry of these cells only. */
export function FailedTable({ database: { name, organization }, table, is_retryable: isRetryable }: FailedTableProps) {
  const api = useApi();
  const [progress, setProgress] = useState<Progress | undefined>(undefined);
  const params = { org: organization, db: name };
  const failed = useQuery({
    queryKey: [...KEYS.table(organization, name, table.path), "errors"],
    queryFn: async ({ signal }) =>
      readErrors(
        await api.control.text("errorList", { params, query: { path: table.path, limit: LISTED } }, { signal }),
      ),
  });
  const retry = useAction(
    (client, columns: readonly string[], options) => {
      setProgress(undefined);
      const body = {
        table: table.path,
        columns: [...columns],
        cascade: true,
        on_error: "ignore" as const,
        errors_only: true,
      };
      return client.control.call("recompute", { params, body }, { ...options, onProgress: setProgress });
    },
    { changes: [KEYS.tables(organization, name)] },
  );
  const columns = failed.data?.counts ?? [];
  const link = { to: "/orgs/$org/databases/$db/tables/$table", params: { ...params, table: table.path } } as const;
  return (
    <Section
      title={table.path}
      actions={
        isRetryable && (
          <Button
            small
            look="primary"
            aria-label={`Retry the failed cells of ${table.path}`}
            busy={retry.pending}
            onClick={() => retry.run([])}
          >
            Retry {plural(table.errors, "cell")}
          </Button>
        )
      }
    >
      <div className="grid grid-cols-1 gap-3">
        <p className="text-sm">
          <TextLink {...link}>Rows of {table.path}</TextLink>
        </p>
        {retry.error && <ProblemAlert error={retry.error} />}
        {retry.pending && (
          <div role="status">
            <Meter
              label={`Rows of ${table.path} computed again`}
              value={progress?.rows_done ?? 0}
              max={progress?.rows_total ?? 0}
              text={
                progress === undefined
                  ? "starting"
                  : `${formatCount(progress.rows_done)} of ${formatCount(progress.rows_total)}`
              }
            />
          </div>
        )}
        {!retry.pending && retry.result && (
          <Retried done={retry.result.result.rows_done} errors={retry.result.result.errors} />
        )}
        <ul aria-label={`Columns of ${table.path} with failed cells`} className="flex flex-wrap gap-3">
          {columns.map(([column, count]) => (
            <li key={column} className="flex items-center gap-2 rounded-md border border-line px-3 py-1.5 text-sm">
              <TextLink {...link} search={{ where: `errortype(${quoted(column)}) is not null` }}>
                {column}
              </TextLink>
              <Badge tone="danger">{plural(count, "failed cell")}</Badge>
              {isRetryable && (
                <Button
                  small
                  aria-label={`Retry ${column} of ${table.path}`}
                  busy={retry.pending}
                  onClick={() => retry.run([column])}
                >
                  Retry
                </Button>
              )}
            </li>
          ))}
        </ul>
        <ListTable
          caption={`Failed cells of ${table.path}`}
          list={{ items: failed.data?.cells, error: failed.error, more: undefined, loading_more: false }}
          keyOf={({ column, row }) => `${column} ${row}`}
          columns={[
            { title: "Row", names_row: true, cell: ({ row }) => <code className="text-xs break-all">{row}</code> },
            { title: "Column", cell: ({ column }) => <code className="text-xs">{column}</code> },
            {
              title: "Error",
              cell: ({ cause, reason }) => (
                <span className="break-words">
                  {reason}
                  {cause !== undefined && (
                    <span className="block text-muted">
                      because <code className="text-xs">{cause}</code> failed
                    </span>
                  )}
                </span>
              ),
            },
          ]}
          empty={<Empty title="No failed cell" />}
        />
        {failed.data !== undefined && failed.data.cells.length >= LISTED && (
          <p className="text-sm text-muted">These are the first {LISTED}.</p>
        )}
      </div>
    </Section>
  );
}

function Retried({ done, errors }: { readonly done: number; readonly errors: number }) {
  const title = `${plural(done, "row")} computed again, ${errors === 0 ? "without errors" : plural(errors, "failed cell")}.`;
  return <Alert kind={errors === 0 ? "good" : "warn"} title={title} />;
}

function quoted(column: string): string {
  return `"${column.replaceAll('"', '""')}"`;
}
