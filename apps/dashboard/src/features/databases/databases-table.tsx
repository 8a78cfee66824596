import type { Database } from "@appdb/contract/routes/control-databases";
import type { List } from "../../api/use-list.ts";
import { Badge } from "../../ui/badge.tsx";
import { formatBytes, formatCount, plural } from "../../ui/format.ts";
import { Empty, ListTable } from "../../ui/table.tsx";
import { TextLink } from "../../ui/text-link.tsx";
import { DatabaseStateBadge } from "./database-state.tsx";

/** The current databases of an organization. */
export function DatabasesTable({ list }: { readonly list: List<Database> }) {
  return (
    <ListTable
      caption="Databases"
      list={list}
      keyOf={(database) => database.id}
      columns={[
        {
          title: "Name",
          names_row: true,
          cell: ({ name, organization, uri }) => (
            <>
              <TextLink to="/orgs/$org/databases/$db" params={{ org: organization, db: name }}>
                {name}
              </TextLink>
              <code className="block text-xs font-normal text-muted">{uri}</code>
            </>
          ),
        },
        { title: "State", cell: (database) => <State database={database} /> },
        { title: "Resources", cell: ({ resources }) => <Resources resources={resources} /> },
        { title: "Image", cell: ({ image }) => <Image image={image} /> },
        {
          title: "Disk",
          cell: ({ usage }) =>
            usage && (
              <span className="whitespace-nowrap tabular-nums">
                {usage.disk_bytes === 0 ? "-" : formatBytes(usage.disk_bytes)}
                <span className="block text-muted">of {formatBytes(usage.disk_limit_bytes)}</span>
              </span>
            ),
        },
      ]}
      empty={
        <Empty title="main is being created">
          Every organization gets this first database. It appears here automatically.
        </Empty>
      }
    />
  );
}

function State({ database: { state, operation, last_build: lastBuild, usage } }: { readonly database: Database }) {
  return (
    <span className="flex max-w-56 flex-wrap gap-1">
      <DatabaseStateBadge state={state} />
      {lastBuild?.state === "failed" && state !== "FAILED" && <Badge tone="danger">last build failed</Badge>}
      {usage?.is_disk_full && <Badge tone="danger">disk full</Badge>}
      {operation && <code className="block w-full text-xs text-muted">{operation.kind}</code>}
    </span>
  );
}

function Resources({
  resources: { cpu, memory_mb: memoryMb, workers },
}: {
  readonly resources: Database["resources"];
}) {
  return (
    <span className="whitespace-nowrap tabular-nums">
      {plural(cpu, "core")}, {formatCount(memoryMb)} MiB
      <span className="block text-muted">{plural(workers, "worker")}</span>
    </span>
  );
}

function Image({ image: { hash, packages, python } }: { readonly image: Database["image"] }) {
  return (
    <span className="whitespace-nowrap">
      {python === null ? "" : `Python ${python}`}
      <span className="block text-muted">{hash === null ? "base library" : plural(packages, "package")}</span>
    </span>
  );
}
