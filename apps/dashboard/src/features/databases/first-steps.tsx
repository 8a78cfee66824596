import type { HostedService } from "@appdb/contract/routes/control-services";
import { CopyField } from "../../ui/copy-button.tsx";
import { Card } from "../../ui/page.tsx";
import { TextLink } from "../../ui/text-link.tsx";

interface FirstStepsProps {
  readonly server: string;
  /** A database without services yet. If undefined, only the sign-in is shown. */
  readonly uri: string | undefined;
}

/** The next commands for a terminal: signing in, and for a new database the steps to its first service. */
export function FirstSteps({ server, uri }: FirstStepsProps) {
  const steps = [
    { label: "Sign in, and confirm the code here", text: `cli login --server ${server}` },
    ...(uri === undefined
      ? []
      : [
          { label: "Make the current folder a project", text: "cli init" },
          { label: "Write an example application", text: "cli service example --out app.py" },
          { label: "Upload the project's files and packages", text: `cli db update ${uri}` },
          { label: "Create the tables that app.py declares", text: `cli schema update app.py ${uri}` },
          {
            label: "Start its routes. Then you can call them here",
            text: `cli service update app.py ${uri}`,
          },
        ]),
  ];
  return (
    <Card>
      <ol className="grid gap-4">
        {steps.map((step, index) => (
          <li key={step.text}>
            <CopyField
              label={steps.length > 1 ? `${index + 1}. ${step.label}` : step.label}
              what={`the command ${step.text}`}
              text={step.text}
            />
          </li>
        ))}
      </ol>
    </Card>
  );
}

/** The last step: the form that calls a route of each service. */
export function CallServices({ services }: { readonly services: readonly HostedService[] }) {
  return (
    <Card>
      <ul className="grid gap-2.5 text-sm">
        {services.map(({ database, name, organization, routes, uri }) => (
          <li key={uri} className="flex flex-wrap items-baseline gap-x-3">
            <TextLink
              to="/orgs/$org/databases/$db/services/$service/call"
              params={{ org: organization, db: database, service: name }}
            >
              Call {name}
            </TextLink>
            <span className="text-muted">
              {routes
                .slice(0, 3)
                .map(({ method, path }) => `${method} ${path}`)
                .join(", ")}
              {routes.length > 3 && " ..."}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
