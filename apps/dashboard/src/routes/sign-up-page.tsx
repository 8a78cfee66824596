import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useApi } from "../api/api.tsx";
import { serviceQuery, whoamiQuery } from "../api/queries.ts";
import { AuthPage } from "../features/accounts/auth-page.tsx";
import { SignUpForm } from "../features/accounts/sign-up-form.tsx";
import { InvitationCard } from "../features/members/invitation-card.tsx";
import { Alert, ProblemAlert } from "../ui/alert.tsx";
import { Loading } from "../ui/table.tsx";
import { TextLink } from "../ui/text-link.tsx";

const route = getRouteApi("/open/sign-up");

/** Joins an organization by invitation, or signs up without one if the operator allows it. */
export function SignUpPage() {
  const { invitation: token } = route.useSearch();
  return token === undefined ? <OpenSignUp /> : <InvitedSignUp token={token} />;
}

function OpenSignUp() {
  const service = useQuery(serviceQuery(useApi()));
  if (service.error) return <ProblemAlert error={service.error} />;
  if (service.data === undefined) return <Loading />;
  return (
    <AuthPage title="Sign up" footer={<SignInInstead next="/" />}>
      {service.data.sign_up === "open" ? (
        <SignUpForm />
      ) : (
        <Alert kind="note" title="Accounts require an invitation">
          <p>Ask a member of an organization for an invitation link, and open it.</p>
        </Alert>
      )}
    </AuthPage>
  );
}

function InvitedSignUp({ token }: { readonly token: string }) {
  const api = useApi();
  const me = useQuery(whoamiQuery(api));
  const invitation = useQuery({
    queryKey: ["invitation", token],
    queryFn: ({ signal }) => api.control.call("invitationShow", { params: { token } }, { signal }),
  });
  if (invitation.error) {
    return (
      <AuthPage title="This invitation is not open" footer={<SignInInstead next="/" />}>
        <ProblemAlert error={invitation.error} />
      </AuthPage>
    );
  }
  if (invitation.data === undefined || me.data === undefined) return <Loading />;
  const { organization, email } = invitation.data;
  return (
    <AuthPage
      title={`Join ${organization}`}
      lead={`An invitation for ${email}, as ${invitation.data.role}.`}
      footer={me.data === null && <SignInInstead next={`/sign-up?invitation=${encodeURIComponent(token)}`} />}
    >
      {me.data === null ? (
        <SignUpForm invitation={{ token, email, organization }} />
      ) : (
        <InvitationCard token={token} invitation={invitation.data} me={me.data} />
      )}
    </AuthPage>
  );
}

function SignInInstead({ next }: { readonly next: string }) {
  return (
    <p>
      Already have an account?{" "}
      <TextLink to="/sign-in" search={{ next }}>
        Sign in
      </TextLink>
    </p>
  );
}
