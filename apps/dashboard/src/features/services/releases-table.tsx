import type { HostedService } from "@appdb/contract/routes/control-services";
import { KEYS } from "../../api/queries.ts";
import { useList } from "../../api/use-list.ts";
import { Badge } from "../../ui/badge.tsx";
import { Empty, ListTable } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { RollBack } from "./roll-back.tsx";

interface ReleasesTableProps {
  readonly service: HostedService;
  readonly may_change: boolean;
}

/** The service's releases, with their rollback. */
export function ReleasesTable({ service, may_change: mayChange }: ReleasesTableProps) {
  const { database: db, name, organization: org } = service;
  const releases = useList([...KEYS.releases(org, db, name), service.generation], (api, query, options) =>
    api.control.call("releaseList", { params: { org, db, service: name }, query }, options),
  );
  return (
    <ListTable
      caption="Releases, newest first"
      list={releases}
      keyOf={(release) => String(release.number)}
      columns={[
        {
          title: "Release",
          names_row: true,
          cell: ({ number, served_at: servedAt }) => (
            <span className="inline-flex gap-2 tabular-nums">
              {number}
              {number === service.release && <Badge tone="good">runs</Badge>}
              {servedAt === null && <Badge tone="plain">never served</Badge>}
            </span>
          ),
        },
        { title: "Created", cell: ({ created_at: createdAt }) => <Time at={createdAt} to="second" /> },
        { title: "By", cell: ({ created_by: createdBy }) => createdBy },
        {
          title: "Changes",
          cell: ({ changes }) => <span className="block max-w-96 min-w-48 text-pretty">{changes.join("; ")}</span>,
        },
        { title: "Files", cell: ({ files }) => <code className="text-xs">{files?.slice(0, 12) ?? "-"}</code> },
        {
          title: "",
          align_right: true,
          cell: (release) =>
            mayChange && release.number !== service.desired_release && <RollBack service={service} release={release} />,
        },
      ]}
      empty={<Empty title="No release yet" />}
    />
  );
}
