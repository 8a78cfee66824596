import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useApi } from "../api/api.tsx";
import { serviceQuery } from "../api/queries.ts";
import { useAction } from "../api/use-action.ts";
import { AuthPage } from "../features/accounts/auth-page.tsx";
import { CodeField } from "../features/accounts/code-field.tsx";
import { EmailField } from "../features/accounts/email-field.tsx";
import { enter } from "../features/accounts/enter.ts";
import { PasswordField } from "../features/accounts/password-field.tsx";
import { ProviderButtons } from "../features/accounts/provider-buttons.tsx";
import { useAskedFactor } from "../features/accounts/use-asked-factor.ts";
import { Alert } from "../ui/alert.tsx";
import { Button } from "../ui/button.tsx";
import { Form, fieldProblem } from "../ui/form.tsx";
import { TextLink } from "../ui/text-link.tsx";

const route = getRouteApi("/open/sign-in");

export function SignInPage() {
  const { next, error } = route.useSearch();
  const service = useQuery(serviceQuery(useApi())).data;
  const signIn = useAction((api, input: { email: string; password: string; code?: string }) => api.auth.signIn(input), {
    onDone: () => enter(next),
  });
  const factor = useAskedFactor(signIn.error);
  return (
    <AuthPage
      title="Sign in"
      lead={next?.startsWith("/device") && "Then confirm the code that your terminal shows."}
      footer={
        <>
          <p>
            <TextLink to="/forgot">Forgot the password?</TextLink>
          </p>
          {service?.sign_up === "open" && (
            <p>
              No account yet? <TextLink to="/sign-up">Sign up</TextLink>
            </p>
          )}
          {service?.sign_up === "invitation" && <p>Accounts require an invitation: ask a member of an organization.</p>}
        </>
      }
    >
      {service?.sign_up === "first" && (
        <Alert kind="note" title="There are no accounts yet">
          <p>Open the link that the server printed when it started.</p>
        </Alert>
      )}
      {error !== undefined && signIn.error === null && (
        <Alert kind="problem" title="The provider did not sign you in.">
          <p>It answered {error.slice(0, 100)}. Try again, or use your password.</p>
        </Alert>
      )}
      <ProviderButtons providers={service?.oidc ?? []} next={next} />
      <Form
        error={factor.problem}
        onSubmit={(value) => {
          const code = value("code");
          signIn.run({ email: value("email"), password: value("password"), ...(code === "" ? {} : { code }) });
        }}
      >
        <EmailField problem={fieldProblem(signIn.error, "/email")} />
        <PasswordField problem={fieldProblem(signIn.error, "/password")} />
        {factor.is_asked && <CodeField has_focus />}
        <Button type="submit" look="primary" busy={signIn.pending}>
          Sign in
        </Button>
      </Form>
    </AuthPage>
  );
}
