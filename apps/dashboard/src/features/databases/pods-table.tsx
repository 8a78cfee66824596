import type { Pod } from "@appdb/contract/routes/control-databases";
import { Badge } from "../../ui/badge.tsx";
import { formatBytes, formatDuration } from "../../ui/format.ts";
import { Empty, ListTable } from "../../ui/table.tsx";

const TONES = {
  STARTING: "accent",
  READY: "good",
  NOT_READY: "warn",
  STOPPED: "plain",
  FAILED: "danger",
} as const satisfies Record<Pod["state"], "plain" | "accent" | "good" | "warn" | "danger">;

/** The pods of a database or a service. `is_asleep` explains why there is none. */
export function PodsTable({
  pods,
  is_asleep: isAsleep,
}: {
  readonly pods: readonly Pod[];
  readonly is_asleep: boolean;
}) {
  return (
    <ListTable
      caption="Pods"
      list={{ items: pods, error: null, more: undefined, loading_more: false }}
      keyOf={(pod) => pod.id}
      columns={[
        {
          title: "Pod",
          names_row: true,
          cell: (pod) => (
            <>
              {pod.kind}
              <code className="block text-xs font-normal text-muted">{pod.id}</code>
            </>
          ),
        },
        {
          title: "State",
          cell: (pod) => (
            <>
              <Badge tone={TONES[pod.state]}>{pod.state}</Badge>
              {pod.reason && <span className="mt-1 block max-w-80 min-w-48 text-pretty text-muted">{pod.reason}</span>}
            </>
          ),
        },
        { title: "Restarts", cell: (pod) => <span className="tabular-nums">{pod.restarts}</span> },
        { title: "Age", cell: (pod) => <span className="tabular-nums">{ageOf(pod)}</span> },
        {
          title: "Memory",
          cell: (pod) => (
            <span className="whitespace-nowrap tabular-nums">
              {pod.memory_bytes === null ? "" : formatBytes(pod.memory_bytes)}
            </span>
          ),
        },
      ]}
      empty={<Empty title="No running pods">{isAsleep && "It uses no memory while it sleeps."}</Empty>}
    />
  );
}

function ageOf({ started_at: startedAt }: Pod): string {
  return startedAt === null ? "" : formatDuration(Date.now() - Date.parse(startedAt));
}
