import { DatabaseFrame } from "../features/databases/database-frame.tsx";
import { useDatabase } from "../features/databases/use-database.ts";
import { Asleep } from "../features/tables/asleep.tsx";
import { TablesList } from "../features/tables/tables-list.tsx";

/** The tables of a database. */
export function TablesPage() {
  const { database, error } = useDatabase();
  return (
    <DatabaseFrame database={database} error={error} about="tables">
      {database.state === "AVAILABLE" ? <TablesList database={database} /> : <Asleep database={database} />}
    </DatabaseFrame>
  );
}
