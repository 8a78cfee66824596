import type { HostedService } from "@appdb/contract/routes/control-services";
import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../../ui/dialog.tsx";
import { Empty, ListTable } from "../../ui/table.tsx";
import { TextLink } from "../../ui/text-link.tsx";
import { callCommand } from "./call-command.ts";

type Route = HostedService["routes"][number];

/** The routes of a service, each with the command that calls it. */
export function RoutesTable({ service }: { readonly service: HostedService }) {
  const [shown, setShown] = useState<Route | undefined>(undefined);
  return (
    <>
      <ListTable
        caption="Routes"
        list={{ items: service.routes, error: null, more: undefined, loading_more: false }}
        keyOf={({ method, path }) => `${method} ${path}`}
        columns={[
          {
            title: "Route",
            names_row: true,
            cell: ({ method, path }) => (
              <code className="text-xs whitespace-nowrap">
                {method} {path}
              </code>
            ),
          },
          { title: "Does", cell: ({ route_type }) => route_type },
          { title: "Takes", cell: ({ inputs }) => inputs.join(", ") },
          { title: "Answers", cell: ({ outputs }) => outputs.join(", ") },
          {
            title: "",
            align_right: true,
            cell: (route) =>
              service.endpoint !== null && (
                <Button small aria-label={`Call ${route.method} ${route.path}`} onClick={() => setShown(route)}>
                  Call
                </Button>
              ),
          },
        ]}
        empty={<Empty title="It has no routes" />}
      />
      {shown && <CallDialog service={service} route={shown} onClose={() => setShown(undefined)} />}
    </>
  );
}

interface CallDialogProps {
  readonly service: HostedService;
  readonly route: Route;
  readonly onClose: () => void;
}

/** Keys are for programs and never for a page: it says what to type. */
function CallDialog({ service, route, onClose }: CallDialogProps) {
  const command = callCommand(service.endpoint ?? "", route);
  return (
    <Dialog title={`Call ${route.method} ${route.path}`} wide onClose={onClose}>
      <div className="grid gap-1.5">
        <div className="flex items-center justify-between gap-3">
          <p className="text-sm font-medium">In a terminal</p>
          <CopyButton text={command} what="the curl command" />
        </div>
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by the keyboard
          tabIndex={0}
          className="max-h-52 overflow-auto rounded-md border border-line bg-sunken px-3 py-2.5 text-xs leading-5"
        >
          {command}
        </pre>
        <p className="text-sm text-muted">
          The key comes from{" "}
          <TextLink to="/orgs/$org/keys" params={{ org: service.organization }}>
            API keys
          </TextLink>
          . All routes with their types are described at <code className="break-all">{service.endpoint}/docs</code>
        </p>
      </div>
      <DialogButtons>
        <Button onClick={onClose}>Close</Button>
      </DialogButtons>
    </Dialog>
  );
}
