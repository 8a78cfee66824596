import { Field } from "../../ui/field.tsx";

/** The contract's minimum for a new password. */
const MIN_LENGTH = 10;

interface PasswordFieldProps {
  readonly label?: string;
  readonly name?: string;
  /** Whether it is for a new password. */
  readonly isNew?: boolean;
  readonly problem?: string | undefined;
}

export function PasswordField({ label = "Password", name = "password", isNew = false, problem }: PasswordFieldProps) {
  return (
    <Field
      label={label}
      name={name}
      type="password"
      autoComplete={isNew ? "new-password" : "current-password"}
      required
      {...(isNew ? { minLength: MIN_LENGTH, maxLength: 200, help: `At least ${MIN_LENGTH} characters.` } : {})}
      problem={problem}
    />
  );
}
