import { Field } from "../../ui/field.tsx";

interface EmailFieldProps {
  readonly problem: string | undefined;
  /** The address of an invitation, which cannot be changed. */
  readonly fixed?: string | undefined;
}

/** The address of an account. */
export function EmailField({ problem, fixed }: EmailFieldProps) {
  return (
    <Field
      label="E-mail address"
      name="email"
      type="email"
      autoComplete="username"
      required
      {...(fixed === undefined ? {} : { defaultValue: fixed, readOnly: true })}
      problem={problem}
    />
  );
}
