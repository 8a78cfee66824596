import { Field } from "../../ui/field.tsx";

/** The contract's minimum for a new password. */
const MIN_LENGTH = 10;

interface PasswordFieldProps {
  readonly label?: string;
  readonly name?: string;
  /** Whether it is for a new password. */
  readonly fresh?: boolean;
  readonly problem?: string | undefined;
}

export function PasswordField({ label = "Password", name = "password", fresh = false, problem }: PasswordFieldProps) {
  return (
    <Field
      label={label}
      name={name}
      type="password"
      autoComplete={fresh ? "new-password" : "current-password"}
      required
      {...(fresh ? { minLength: MIN_LENGTH, maxLength: 200, help: `At least ${MIN_LENGTH} characters.` } : {})}
      problem={problem}
    />
  );
}
