import { useQuery } from "@tanstack/react-query";
import { useRouteContext } from "@tanstack/react-router";
import { useApi } from "../api/api.tsx";
import { accountQuery } from "../api/queries.ts";
import { useAction } from "../api/use-action.ts";
import { ChangePassword } from "../features/accounts/change-password.tsx";
import { enter } from "../features/accounts/enter.ts";
import { SecondFactor } from "../features/accounts/second-factor.tsx";
import { SessionsTable } from "../features/accounts/sessions-table.tsx";
import { ProblemAlert } from "../ui/alert.tsx";
import { Button } from "../ui/button.tsx";
import { Card, Facts, Page, Section } from "../ui/page.tsx";
import { MainColumn } from "./signed-in-layout.tsx";

export function AccountPage() {
  const { me } = useRouteContext({ from: "/signed-in" });
  const account = useQuery(accountQuery(useApi()));
  const signOut = useAction((api, _: undefined) => api.auth.signOut(), { onDone: () => enter("/sign-in") });
  return (
    <MainColumn>
      <Page
        title="Account"
        actions={
          <Button busy={signOut.pending} onClick={() => signOut.run(undefined)}>
            Sign out
          </Button>
        }
      >
        {signOut.error && <ProblemAlert error={signOut.error} />}
        <Card>
          <Facts
            facts={[
              ["Name", me.name ?? "none"],
              ["E-mail address", me.email ?? "none"],
              ["Organizations", me.organizations],
            ]}
          />
        </Card>
        {account.error && <ProblemAlert error={account.error} />}
        {account.data?.has_password && (
          <>
            <Section title="Password">
              <ChangePassword />
            </Section>
            <Section title="Second factor">
              <SecondFactor account={account.data} />
            </Section>
          </>
        )}
        <Section title="Sessions">
          <p className="-mt-1 text-sm text-muted">Where you are signed in. End sessions that you do not recognize.</p>
          <SessionsTable />
        </Section>
      </Page>
    </MainColumn>
  );
}
