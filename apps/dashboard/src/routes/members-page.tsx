import type { CreatedInvitation } from "@appdb/contract/routes/control";
import { useState } from "react";
import { InvitationLinkDialog } from "../features/members/invitation-link-dialog.tsx";
import { InvitationsTable } from "../features/members/invitations-table.tsx";
import { InviteDialog } from "../features/members/invite-dialog.tsx";
import { MembersTable } from "../features/members/members-table.tsx";
import { may, useOrg } from "../features/organizations/use-org.ts";
import { Button } from "../ui/button.tsx";
import { PlusIcon } from "../ui/icons.tsx";
import { Page, Section } from "../ui/page.tsx";

export function MembersPage() {
  const org = useOrg();
  const [inviting, setInviting] = useState(false);
  const [created, setCreated] = useState<CreatedInvitation | undefined>(undefined);
  const invites = may(org, "member.invite");
  return (
    <Page
      title="Members"
      lead="Owners can do everything, admins everything except deleting the organization. Members can use it and create their own keys."
      actions={
        invites && (
          <Button look="primary" onClick={() => setInviting(true)}>
            <PlusIcon />
            Invite
          </Button>
        )
      }
    >
      <MembersTable org={org} />
      {invites && (
        <Section title="Open invitations">
          <InvitationsTable org={org} />
        </Section>
      )}
      {inviting && (
        <InviteDialog
          org={org}
          onClose={() => setInviting(false)}
          onCreated={(invitation) => {
            setInviting(false);
            setCreated(invitation);
          }}
        />
      )}
      {created && <InvitationLinkDialog invitation={created} onClose={() => setCreated(undefined)} />}
    </Page>
  );
}
