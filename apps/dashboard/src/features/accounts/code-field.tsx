import { Field } from "../../ui/field.tsx";

interface CodeFieldProps {
  readonly label?: string;
  readonly has_focus?: boolean;
  /** Whether only codes of the app are accepted. */
  readonly app_only?: boolean;
}

/** A field for a code of the second factor. */
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
        appOnly
          ? "Six digits from your authenticator app."
          : "Six digits from your authenticator app, or a recovery code."
      }
    />
  );
}
