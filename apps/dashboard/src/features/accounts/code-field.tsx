import { Field } from "../../ui/field.tsx";

interface CodeFieldProps {
  readonly label?: string;
  readonly has_focus?: boolean;
  /** Only codes of the app will do. */
  readonly app_only?: boolean;
}

/** The code of a second factor. */
export function CodeField({ label = "Code", has_focus = false, app_only = false }: CodeFieldProps) {
  return (
    <Field
      label={label}
      name="code"
      autoComplete="one-time-code"
      autoCapitalize="none"
      spellCheck={false}
      required
      minLength={6}
      maxLength={app_only ? 6 : 40}
      inputMode={app_only ? "numeric" : "text"}
      autoFocus={has_focus}
      help={
        app_only ? "Six digits of your authenticator app." : "Six digits of your authenticator app, or a recovery code."
      }
    />
  );
}
