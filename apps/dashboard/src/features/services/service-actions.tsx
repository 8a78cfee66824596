import type { CallOptions } from "@appdb/contract/clients/client";
import { nextServiceState, type ServiceEvent } from "@appdb/contract/control/service-states";
import type { HostedService, HostedServiceChange } from "@appdb/contract/routes/control-services";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Api } from "../../api/api.tsx";
import { KEYS } from "../../api/queries.ts";
import { type Action, useAction } from "../../api/use-action.ts";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";

interface ServiceAction {
  readonly route: "serviceRestart" | "serviceStop" | "serviceRetry";
  readonly title: string;
  /** `cli service <verb> <uri>` does the same. */
  readonly verb: string;
  readonly event: ServiceEvent;
  readonly warning: string;
}

const ACTIONS: readonly ServiceAction[] = [
  {
    route: "serviceRetry",
    title: "Try again",
    verb: "retry",
    event: "retry",
    warning: "It is started again with its current release.",
  },
  {
    route: "serviceRestart",
    title: "Restart",
    verb: "restart",
    event: "restart",
    warning: "A new pod with the same release and the current secrets takes over. No request is refused.",
  },
  {
    route: "serviceStop",
    title: "Stop",
    verb: "stop",
    event: "stop",
    warning: "Its callers get 503 until it is restarted. Running requests finish first.",
  },
];

/** A change to a service, whose answer is shown at once. */
export function useServiceChange<Input>(
  { database, name, organization }: HostedService,
  perform: (api: Api, input: Input, options: CallOptions) => Promise<HostedServiceChange>,
  onDone?: () => void,
): Action<Input, HostedServiceChange> {
  const queries = useQueryClient();
  return useAction(perform, {
    changes: [KEYS.services(organization, database), KEYS.operations(organization)],
    onDone: ({ service }) => {
      queries.setQueryData(KEYS.hosted_service(organization, database, name), service);
      onDone?.();
    },
  });
}

/** The actions for the service's current state. Each asks first and shows its command. */
export function ServiceActions({ service }: { readonly service: HostedService }) {
  const offered = ACTIONS.filter(({ event, route }) => {
    if (route === "serviceRetry" && service.state !== "FAILED") return false;
    return nextServiceState(service.state, event) !== undefined && !(event === "stop" && service.state === "STOPPED");
  });
  return offered.map((action) => <ActionButton key={action.route} service={service} action={action} />);
}

function ActionButton({ service, action }: { readonly service: HostedService; readonly action: ServiceAction }) {
  const [asking, setAsking] = useState(false);
  const { database, name, organization, uri } = service;
  const change = useServiceChange(
    service,
    (api, _: undefined, options) =>
      api.control.call(action.route, { params: { org: organization, db: database, service: name } }, options),
    () => setAsking(false),
  );
  return (
    <>
      <Button small onClick={() => setAsking(true)}>
        {action.title}
      </Button>
      {asking && (
        <ConfirmDialog
          title={`${action.title} ${name}?`}
          verb={action.title}
          is_harmless
          command={`cli service ${action.verb} ${uri}`}
          action={change}
          onConfirm={() => change.run(undefined)}
          onClose={() => {
            change.reset();
            setAsking(false);
          }}
        >
          {action.warning}
        </ConfirmDialog>
      )}
      {change.error && !asking && <ProblemAlert error={change.error} />}
    </>
  );
}
