import type { InvitationShown, Whoami } from "@appdb/contract/routes/control";
import { useAction } from "../../api/use-action.ts";
import { Alert, ProblemAlert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { enter } from "../accounts/enter.ts";

interface InvitationCardProps {
  readonly token: string;
  readonly invitation: InvitationShown;
  readonly me: Whoami;
}

/** An invitation, for a person who is already signed in. */
export function InvitationCard({ token, invitation, me }: InvitationCardProps) {
  const join = useAction(
    (api, _: undefined, options) => api.control.call("invitationAccept", { params: { token } }, options),
    { onDone: (org) => enter(`/orgs/${org.name}`) },
  );
  const signOut = useAction((api, _: undefined) => api.auth.signOut(), {
    onDone: () => enter(`/sign-up?invitation=${encodeURIComponent(token)}`),
  });
  const invited = me.email?.toLowerCase() === invitation.email.toLowerCase();
  return (
    <>
      {join.error && <ProblemAlert error={join.error} />}
      {signOut.error && <ProblemAlert error={signOut.error} />}
      {invited ? (
        <>
          <p>You are signed in as {me.email}.</p>
          <Button look="primary" busy={join.pending} onClick={() => join.run(undefined)}>
            Join {invitation.organization}
          </Button>
        </>
      ) : (
        <>
          <Alert kind="warn" title={`You are signed in as ${me.email ?? "someone else"}`}>
            <p>The invitation is for {invitation.email}. Sign out to join with that address.</p>
          </Alert>
          <Button busy={signOut.pending} onClick={() => signOut.run(undefined)}>
            Sign out
          </Button>
        </>
      )}
    </>
  );
}
