import { DatabaseFrame } from "../features/databases/database-frame.tsx";
import { useDatabase } from "../features/databases/use-database.ts";
import { ServicesTable } from "../features/services/services-table.tsx";
import { Command } from "../ui/command.tsx";

/** The services of a database. */
export function ServicesPage() {
  const { database, error } = useDatabase();
  return (
    <DatabaseFrame database={database} error={error} about="services">
      <ServicesTable database={database} />
      <p>
        <Command text={`cli service list ${database.uri}`} />
      </p>
    </DatabaseFrame>
  );
}
