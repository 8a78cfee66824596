import { useState } from "react";
import { DatabaseFrame } from "../../features/databases/database-frame.tsx";
import { useDatabase } from "../../features/databases/use-database.ts";
import { FailedTable } from "../../features/failed-cells/failed-table.tsx";
import { may, useOrg } from "../../features/organizations/use-org.ts";
import { Asleep } from "../../features/tables/asleep.tsx";
import { useTables } from "../../features/tables/use-tables.ts";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Command } from "../../ui/command.tsx";
import { Empty, Loading } from "../../ui/table.tsx";

/** The computed cells of a database that failed, as an inbox. */
export function FailedCellsPage() {
  const org = useOrg();
  const { database, error } = useDatabase();
  const { items: tables, error: tablesError } = useTables(database);
  /** Tables stay until the page is left, so that the result of their retry stays. */
  const [seen, setSeen] = useState<readonly string[]>([]);
  const failing = tables?.filter((table) => table.errors > 0 || seen.includes(table.path));
  const added = failing?.filter(({ path }) => !seen.includes(path)).map(({ path }) => path) ?? [];
  if (added.length > 0) setSeen([...seen, ...added]);
  const isAwake = database.state === "AVAILABLE";
  return (
    <DatabaseFrame database={database} error={error} about="failed cells">
      {!isAwake && <Asleep database={database} />}
      {isAwake && tablesError && <ProblemAlert error={tablesError} />}
      {isAwake && !tablesError && failing === undefined && <Loading />}
      {isAwake && failing?.length === 0 && (
        <div className="rounded-lg border border-dashed border-line px-6 py-10">
          <Empty title="No failed cell">
            <p>Computed cells that fail appear here with their errors, if an insert stores them.</p>
          </Empty>
        </div>
      )}
      {isAwake &&
        failing?.map((table) => (
          <FailedTable key={table.path} database={database} table={table} is_retryable={may(org, "database.update")} />
        ))}
      {isAwake && (
        <p>
          <Command text={`cli errors ${database.uri}`} />
        </p>
      )}
    </DatabaseFrame>
  );
}
