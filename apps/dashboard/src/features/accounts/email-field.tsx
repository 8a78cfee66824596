import { Field } from "../../ui/field.tsx";

interface EmailFieldProps {
  readonly problem: string | undefined;
  /** The address that an invitation is for: no other may be typed. */
  readonly fixed?: string | undefined;
}

/** The address by which somebody is known here. */
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
