import { getRouteApi } from "@tanstack/react-router";
import { useAction } from "../api/use-action.ts";
import { AuthPage } from "../features/accounts/auth-page.tsx";
import { EmailField } from "../features/accounts/email-field.tsx";
import { enter } from "../features/accounts/enter.ts";
import { PasswordField } from "../features/accounts/password-field.tsx";
import { Alert } from "../ui/alert.tsx";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Form, fieldProblem } from "../ui/form.tsx";

const route = getRouteApi("/open/setup");

interface FirstAccount {
  readonly token: string;
  readonly email: string;
  readonly name: string;
  readonly password: string;
}

/** Creates the first account with the link that the server printed. */
export function SetUpPage() {
  const { token } = route.useSearch();
  const setUp = useAction((api, body: FirstAccount, options) => api.control.call("setUp", { body }, options), {
    onDone: () => enter(),
  });
  if (token === undefined) {
    return (
      <AuthPage title="Set up this server">
        <Alert kind="note" title="Open this page with its link">
          <p>A server without accounts prints the link when it starts. It works once.</p>
        </Alert>
      </AuthPage>
    );
  }
  return (
    <AuthPage title="Set up this server" lead="Make the first account. It can invite others.">
      <Form
        error={setUp.error}
        onSubmit={(value) =>
          setUp.run({ token, email: value("email"), name: value("name"), password: value("password") })
        }
      >
        <Field
          label="Your name"
          name="name"
          autoComplete="name"
          required
          problem={fieldProblem(setUp.error, "/name")}
        />
        <EmailField problem={fieldProblem(setUp.error, "/email")} />
        <PasswordField isNew problem={fieldProblem(setUp.error, "/password")} />
        <Button type="submit" look="primary" busy={setUp.pending}>
          Make the first account
        </Button>
      </Form>
    </AuthPage>
  );
}
