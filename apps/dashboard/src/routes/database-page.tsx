import { DatabaseActions } from "../features/databases/database-actions.tsx";
import { ProjectSection, ResourcesSection } from "../features/databases/database-facts.tsx";
import { DatabaseFrame } from "../features/databases/database-frame.tsx";
import { PodsTable } from "../features/databases/pods-table.tsx";
import { StateNotes } from "../features/databases/state-notes.tsx";
import { useDatabase } from "../features/databases/use-database.ts";
import { OperationsTable } from "../features/operations/operations-table.tsx";
import { RunningOperation } from "../features/operations/running-operation.tsx";
import { useOrg } from "../features/organizations/use-org.ts";
import { Command } from "../ui/command.tsx";
import { Section } from "../ui/page.tsx";

/** The current state of a database, and its actions. */
export function DatabasePage() {
  const org = useOrg();
  const { database, error } = useDatabase();
  return (
    <DatabaseFrame database={database} error={error}>
      <StateNotes database={database} />
      <RunningOperation key={`operation of ${database.id}`} database={database} />
      <div className="grid gap-6 lg:grid-cols-2">
        <ResourcesSection database={database} />
        <ProjectSection database={database} />
      </div>
      <Section title="Pods" actions={<Command text={`cli db status ${database.uri}`} />}>
        <PodsTable pods={database.pods} is_asleep={database.state === "STOPPED"} />
      </Section>
      <Section title="Operations" actions={<Command text={`cli operations list --database ${database.name}`} />}>
        <OperationsTable org={org} database={database.name} />
      </Section>
      <Section title="Actions">
        <DatabaseActions key={database.id} org={org} database={database} />
      </Section>
    </DatabaseFrame>
  );
}
