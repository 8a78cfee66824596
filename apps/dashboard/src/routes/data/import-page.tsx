import { getRouteApi } from "@tanstack/react-router";
import { DatabaseFrame } from "../../features/databases/database-frame.tsx";
import { useDatabase } from "../../features/databases/use-database.ts";
import { Asleep } from "../../features/tables/asleep.tsx";
import { useTable } from "../../features/tables/use-tables.ts";
import { ImportForm } from "../../features/transfer/import-form.tsx";
import { Alert, ProblemAlert } from "../../ui/alert.tsx";
import { Loading } from "../../ui/table.tsx";
import { TextLink } from "../../ui/text-link.tsx";

const route = getRouteApi("/signed-in/orgs/$org/databases/$db/tables/$table/import");

/** Inserts the rows of a file into a table. */
export function ImportPage() {
  const { table: path } = route.useParams();
  const { database, error } = useDatabase();
  const table = useTable(database, path);
  const isAwake = database.state === "AVAILABLE";
  const params = { org: database.organization, db: database.name, table: path };
  return (
    <DatabaseFrame database={database} error={error} about={`import into ${path}`}>
      <p className="flex flex-wrap items-center gap-2 text-base">
        <TextLink to="/orgs/$org/databases/$db/tables/$table" params={params}>
          {path}
        </TextLink>
        <span aria-hidden="true" className="text-field">
          /
        </span>
        <span className="font-semibold">Import a file</span>
      </p>
      {!isAwake && <Asleep database={database} />}
      {isAwake && table.error && <ProblemAlert error={table.error} />}
      {isAwake && !table.error && table.data === undefined && <Loading />}
      {isAwake && table.data && table.data.view_of !== null && (
        <Alert kind="note" title={`${path} is a view of ${table.data.view_of}. Import into its table.`} />
      )}
      {isAwake && table.data && table.data.view_of === null && <ImportForm database={database} table={table.data} />}
    </DatabaseFrame>
  );
}
