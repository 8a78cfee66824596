import { DatabaseFrame } from "../../features/databases/database-frame.tsx";
import { useDatabase } from "../../features/databases/use-database.ts";
import { QueryForm } from "../../features/sql/query-form.tsx";
import { Asleep } from "../../features/tables/asleep.tsx";
import { useTables } from "../../features/tables/use-tables.ts";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Loading } from "../../ui/table.tsx";

/** Runs SQL that only reads. */
export function QueryPage() {
  const { database, error } = useDatabase();
  const { items: tables, error: tablesError } = useTables(database);
  const isAwake = database.state === "AVAILABLE";
  const [first] = tables ?? [];
  const example = first === undefined ? "select 1" : `select *\nfrom "${first.path}"\nlimit 20`;
  return (
    <DatabaseFrame database={database} error={error} about="query">
      {!isAwake && <Asleep database={database} />}
      {isAwake && tablesError && <ProblemAlert error={tablesError} />}
      {isAwake && !tablesError && tables === undefined && <Loading />}
      {isAwake && tables !== undefined && <QueryForm database={database} example={example} />}
    </DatabaseFrame>
  );
}
