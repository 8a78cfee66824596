import { Field } from "../../ui/field.tsx";

interface CodeFieldProps {
  readonly label?: string;
  readonly has_focus?: boolean;
  /** Only codes of the app will do. */
  readonly app_only?: boolean;
}

/** The code of a second factor. */
export function CodeField({ label = "Code", has_focus: hasFocus = false, app_only: appOnly = false }: CodeFieldProps) {
  return (
    <Field
      label={label}
      name="code"
      autoComplete="one-time-code"
      autoCapitalize="none"
      spellCheck={false}
      required
      minLength={6}
      maxLength={appOnly ? 6 : 40}
      inputMode={appOnly ? "numeric" : "text"}
      autoFocus={hasFocus}
      help={
        appOnly ? "Six digits of your authenticator app." : "Six digits of your authenticator app, or a recovery code."
      }
    />
  );
}
