import { AppError } from "@appdb/contract/errors";
import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";

type Kind = "note" | "good" | "warn" | "problem";

const KINDS: Readonly<Record<Kind, string>> = {
  note: "border-line bg-sunken",
  good: "border-good/30 bg-good-soft",
  warn: "border-warn/30 bg-warn-soft",
  problem: "border-danger/30 bg-danger-soft",
};

interface AlertProps {
  readonly kind: Kind;
  readonly title?: string;
  readonly children?: ReactNode;
}

/** A message. Screen readers read problems at once, and others in a pause. */
export function Alert({ kind, title, children }: AlertProps) {
  return (
    <div
      role={kind === "problem" ? "alert" : "status"}
      className={classNames("grid gap-1 rounded-md border px-3.5 py-3 text-sm", KINDS[kind])}
    >
      {title && <p className="font-medium">{title}</p>}
      {children}
    </div>
  );
}

/** An error: what happened, then one next step. */
export function ProblemAlert({ error }: { readonly error: Error }) {
  const { detail, hint, fields } = problemTexts(error);
  return (
    <Alert kind="problem" title={detail}>
      {fields.length > 0 && (
        <ul className="list-disc pl-4">
          {fields.map((field) => (
            <li key={field.pointer}>
              <code>{field.pointer}</code>: {field.detail}
            </li>
          ))}
        </ul>
      )}
      {hint && <p>{hint}</p>}
    </Alert>
  );
}

/** The server_unreachable hints are for the CLI; on a page, the person can only wait. */
function problemTexts(error: Error) {
  if (!(error instanceof AppError)) {
    return { detail: "Something went wrong in this page.", hint: "Load it again.", fields: [] };
  }
  if (error.code === "server_unreachable") {
    return { detail: "The server does not answer.", hint: "Check the connection, then try again.", fields: [] };
  }
  if (error.code === "client_too_old") {
    return { detail: "The server was upgraded since this page was loaded.", hint: "Load the page again.", fields: [] };
  }
  return { detail: error.message, hint: error.hint, fields: error.errors ?? [] };
}
