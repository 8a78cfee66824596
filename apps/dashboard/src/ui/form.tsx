import { AppError } from "@appdb/contract/errors";
import type { ReactNode } from "react";
import { ProblemAlert } from "./alert.tsx";

interface FormProps {
  readonly onSubmit: (values: FormValues) => void;
  readonly error?: Error | null;
  readonly className?: string;
  readonly children: ReactNode;
}

/** The values of a form by field name. A missing field is empty. */
export type FormValues = (name: string) => string;

/** A form that reads its fields when it is submitted. Shows the last error above them. */
export function Form({ onSubmit, error, className = "grid gap-4", children }: FormProps) {
  return (
    <form
      className={className}
      onSubmit={(event) => {
        event.preventDefault();
        const data = new FormData(event.currentTarget);
        onSubmit((name) => {
          const value = data.get(name);
          return typeof value === "string" ? value : "";
        });
      }}
    >
      {error && <ProblemAlert error={error} />}
      {children}
    </form>
  );
}

/** The server's error for one field (`/email`). */
export function fieldProblem(error: Error | null | undefined, pointer: string): string | undefined {
  if (!(error instanceof AppError)) return undefined;
  return error.errors?.find((field) => field.pointer === pointer)?.detail;
}
