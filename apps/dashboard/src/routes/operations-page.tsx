import { OperationsTable } from "../features/operations/operations-table.tsx";
import { useOrg } from "../features/organizations/use-org.ts";
import { Command } from "../ui/command.tsx";
import { Page } from "../ui/page.tsx";

export function OperationsPage() {
  const org = useOrg();
  return (
    <Page title="Operations" lead="Long-running work: updates, builds, starts and stops.">
      <OperationsTable org={org} />
      <p>
        <Command text={`cli operations list --org ${org.name}`} />
      </p>
    </Page>
  );
}
