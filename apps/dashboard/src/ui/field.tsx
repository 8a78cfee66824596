import { type ComponentProps, type ReactNode, useId } from "react";
import { classNames } from "./class-names.ts";

interface Described {
  readonly label: string;
  /** Help below the field. */
  readonly help?: ReactNode;
  /** The problem of its value. */
  readonly problem?: string | undefined;
}

const CONTROL = "block w-full rounded-md border bg-surface text-ink text-[0.9375rem] aria-invalid:border-danger";

export function Field({ label, help, problem, className, ...rest }: Described & ComponentProps<"input">) {
  const ids = useDescription(help, problem);
  return (
    <Labelled {...ids} label={label} help={help} problem={problem}>
      <input
        {...ids.control}
        className={classNames(CONTROL, "h-10 border-field px-3 read-only:bg-sunken", className)}
        {...rest}
      />
    </Labelled>
  );
}

export function TextArea({ label, help, problem, className, ...rest }: Described & ComponentProps<"textarea">) {
  const ids = useDescription(help, problem);
  return (
    <Labelled {...ids} label={label} help={help} problem={problem}>
      <textarea {...ids.control} className={classNames(CONTROL, "border-field px-3 py-2", className)} {...rest} />
    </Labelled>
  );
}

export function Select({ label, help, problem, className, ...rest }: Described & ComponentProps<"select">) {
  const ids = useDescription(help, problem);
  return (
    <Labelled {...ids} label={label} help={help} problem={problem}>
      <select {...ids.control} className={classNames(CONTROL, "h-10 border-field px-2.5", className)} {...rest} />
    </Labelled>
  );
}

function useDescription(help: ReactNode, problem: string | undefined) {
  const id = useId();
  const described = [help ? `${id}-help` : "", problem ? `${id}-problem` : ""].filter(Boolean).join(" ");
  return {
    id,
    control: { id, "aria-describedby": described || undefined, "aria-invalid": problem !== undefined || undefined },
  };
}

function Labelled({ id, label, help, problem, children }: Described & { id: string; children: ReactNode }) {
  return (
    <div className="grid gap-1.5">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children}
      <p id={`${id}-problem`} aria-live="polite" className="text-sm text-danger empty:hidden">
        {problem}
      </p>
      {help && (
        <p id={`${id}-help`} className="text-sm text-muted">
          {help}
        </p>
      )}
    </div>
  );
}
