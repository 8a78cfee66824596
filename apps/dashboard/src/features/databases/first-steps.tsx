import { CopyField } from "../../ui/copy-button.tsx";
import { Card } from "../../ui/page.tsx";

interface FirstStepsProps {
  readonly server: string;
  /** The database that nobody has used yet; only the way to sign in when there is none. */
  readonly uri: string | undefined;
}

/** What to type next, in a terminal: signing in, and for a new database the way to its first call. */
export function FirstSteps({ server, uri }: FirstStepsProps) {
  const steps = [
    { label: "Sign in, by a code that is confirmed here", text: `cli login --server ${server}` },
    ...(uri === undefined
      ? []
      : [
          { label: "Make the folder that you are in a project", text: "cli init" },
          { label: "Write an application to begin with", text: "cli service example --out app.py" },
          { label: "Give the database the project's files and packages", text: `cli db update ${uri}` },
          { label: "Make the tables that app.py declares", text: `cli schema update app.py ${uri}` },
          { label: "Start its routes", text: `cli service update app.py ${uri}` },
          { label: "Make a key, and call a route at the address that the list shows", text: "cli key create first" },
          { label: "See where the routes are", text: `cli service list ${uri}` },
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
