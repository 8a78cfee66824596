import { DatabaseFrame } from "../../features/databases/database-frame.tsx";
import { useDatabase } from "../../features/databases/use-database.ts";
import { findDependencies } from "../../features/lineage/lineage.ts";
import { LineagePicture } from "../../features/lineage/lineage-picture.tsx";
import { Asleep } from "../../features/tables/asleep.tsx";
import { useTables } from "../../features/tables/use-tables.ts";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, ListTable, Loading } from "../../ui/table.tsx";

/** What the tables, views and columns of a database are computed from. */
export function LineagePage() {
  const { database, error } = useDatabase();
  const { items: tables, error: tablesError } = useTables(database);
  const isAwake = database.state === "AVAILABLE";
  const dependencies = findDependencies(tables ?? []);
  return (
    <DatabaseFrame database={database} error={error} about="lineage">
      {!isAwake && <Asleep database={database} />}
      {isAwake && tablesError && <ProblemAlert error={tablesError} />}
      {isAwake && !tablesError && tables === undefined && <Loading />}
      {isAwake && tables?.length === 0 && (
        <div className="rounded-lg border border-dashed border-line px-6 py-10">
          <Empty title="No table yet" />
        </div>
      )}
      {isAwake && tables !== undefined && tables.length > 0 && (
        <>
          <p className="text-sm text-muted">
            Views are to the right of what they are over. A line leads from a column to one that reads or shows it, and
            ƒ marks computed columns.
          </p>
          <LineagePicture database={database} tables={tables} dependencies={dependencies} />
          <Section title="Dependencies">
            <ListTable
              caption="Dependencies of columns"
              list={{ items: dependencies, error: null, more: undefined, loading_more: false }}
              keyOf={({ from, to }) => JSON.stringify([from.table, from.column, to.table, to.column])}
              columns={[
                {
                  title: "Column",
                  names_row: true,
                  cell: ({ to }) => <code className="text-xs break-words">{`${to.table}.${to.column}`}</code>,
                },
                {
                  title: "Reads",
                  cell: ({ from }) => <code className="text-xs break-words">{`${from.table}.${from.column}`}</code>,
                },
                {
                  title: "Value",
                  cell: ({ to }) => (
                    <code className="text-xs break-words">
                      {tables.find(({ path }) => path === to.table)?.columns.find(({ name }) => name === to.column)
                        ?.value ?? "shown as it is"}
                    </code>
                  ),
                },
              ]}
              empty={<Empty title="No column reads another one" />}
            />
          </Section>
        </>
      )}
    </DatabaseFrame>
  );
}
