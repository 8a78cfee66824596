import { useQuery } from "@tanstack/react-query";
import { useApi } from "../api/api.tsx";
import { serviceQuery } from "../api/queries.ts";
import { useAction } from "../api/use-action.ts";
import { AuthPage } from "../features/accounts/auth-page.tsx";
import { EmailField } from "../features/accounts/email-field.tsx";
import { Alert } from "../ui/alert.tsx";
import { Button } from "../ui/button.tsx";
import { Form, fieldProblem } from "../ui/form.tsx";
import { TextLink } from "../ui/text-link.tsx";

export function ForgotPage() {
  const service = useQuery(serviceQuery(useApi())).data;
  const ask = useAction(async (api, email: string) => {
    await api.auth.requestReset(email);
    return email;
  });
  const noMail = service?.mail === false;
  return (
    <AuthPage
      title="Choose a new password"
      lead="With a link that we send to your address."
      footer={
        <p>
          <TextLink to="/sign-in">Back to the sign-in</TextLink>
        </p>
      }
    >
      {noMail && (
        <Alert kind="note" title="This server sends no mail">
          <p>Ask its operator for a link to choose a new password.</p>
        </Alert>
      )}
      {!noMail && ask.result === undefined && (
        <Form error={ask.error} onSubmit={(value) => ask.run(value("email"))}>
          <EmailField problem={fieldProblem(ask.error, "/email")} />
          <Button type="submit" look="primary" busy={ask.pending}>
            Send the link
          </Button>
        </Form>
      )}
      {!noMail && ask.result !== undefined && (
        <Alert kind="good" title="The link is on its way">
          <p>If {ask.result} has an account, we sent a link to choose a new password there. It works for an hour.</p>
        </Alert>
      )}
    </AuthPage>
  );
}
