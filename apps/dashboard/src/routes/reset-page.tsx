import { getRouteApi } from "@tanstack/react-router";
import { useAction } from "../api/use-action.ts";
import { AuthPage } from "../features/accounts/auth-page.tsx";
import { PasswordField } from "../features/accounts/password-field.tsx";
import { Alert } from "../ui/alert.tsx";
import { Button } from "../ui/button.tsx";
import { Form, fieldProblem } from "../ui/form.tsx";
import { TextLink } from "../ui/text-link.tsx";

const route = getRouteApi("/open/reset");

export function ResetPage() {
  const { token } = route.useSearch();
  const reset = useAction((api, input: { token: string; newPassword: string }) => api.auth.resetPassword(input));
  if (token === undefined) {
    return (
      <AuthPage title="This link does not work" footer={<TextLink to="/forgot">Ask for another link</TextLink>}>
        <Alert kind="note" title="It is incomplete, was already used, or has expired.">
          <p>A link to choose a new password works once, for one hour.</p>
        </Alert>
      </AuthPage>
    );
  }
  return (
    <AuthPage title="Choose a new password">
      {reset.done ? (
        <Alert kind="good" title="The new password is set">
          <p>
            <TextLink to="/sign-in">Sign in with it</TextLink>
          </p>
        </Alert>
      ) : (
        <Form error={reset.error} onSubmit={(value) => reset.run({ token, newPassword: value("password") })}>
          <PasswordField label="New password" isNew problem={fieldProblem(reset.error, "/newPassword")} />
          <Button type="submit" look="primary" busy={reset.pending}>
            Set the password
          </Button>
        </Form>
      )}
    </AuthPage>
  );
}
