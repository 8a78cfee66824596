import { describeOp } from "@appdb/contract/plan-op-text";
import type { HostedService, Release } from "@appdb/contract/routes/control-services";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/api.tsx";
import { KEYS } from "../../api/queries.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { useServiceChange } from "./service-actions.tsx";

interface RollBackProps {
  readonly service: HostedService;
  readonly release: Release;
}

/** Rolls back to an earlier release, after showing the changes of the service's routes. */
export function RollBack({ service, release }: RollBackProps) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button small aria-label={`Roll back to release ${release.number}`} onClick={() => setAsking(true)}>
        Roll back
      </Button>
      {asking && <RollBackDialog service={service} release={release} onClose={() => setAsking(false)} />}
    </>
  );
}

function RollBackDialog({ service, release, onClose }: RollBackProps & { readonly onClose: () => void }) {
  const { database, generation, name, organization, uri } = service;
  const { control } = useApi();
  const call = {
    params: { org: organization, db: database, service: name },
    body: { release: release.number },
  };
  const plan = useQuery({
    queryKey: [...KEYS.releases(organization, database, name), generation, release.number],
    queryFn: ({ signal }) => control.call("serviceRollbackPlan", call, { signal }),
  });
  const change = useServiceChange(
    service,
    (api, _: undefined, options) => api.control.call("serviceRollback", call, options),
    onClose,
  );
  const { data: { ops = [] } = {}, error, isPending } = plan;
  return (
    <ConfirmDialog
      title={`Roll ${name} back to release ${release.number}?`}
      verb="Roll back"
      is_harmless={ops.every(({ destructive }) => !destructive)}
      command={`cli service rollback ${uri} --to ${release.number}`}
      action={{ pending: change.pending || isPending, error: change.error ?? error }}
      onConfirm={() => change.run(undefined)}
      onClose={onClose}
    >
      <p>Its files and its image of then are used again, and no request is refused. The tables do not change.</p>
      {ops.length > 0 && (
        <ul aria-label="What changes" className="mt-3 grid gap-1 font-mono text-xs text-ink">
          {ops.map((op) => (
            <li key={op.description} className="break-words">
              {describeOp(op)}
            </li>
          ))}
        </ul>
      )}
    </ConfirmDialog>
  );
}
