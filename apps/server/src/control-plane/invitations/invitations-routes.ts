import type { Logger } from "@appdb/engine/ports";
import { doneBy, type RecordEvent } from "../../audit/event.ts";
import type { ServerConfig } from "../../config/config.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import { isUuid } from "../../database/uuid.ts";
import type { Mail } from "../../identity/mail.ts";
import { person } from "../../identity/person.ts";
import type { Attempts } from "../../identity/second-factor/attempts.ts";
import { requireRecentProof } from "../../identity/second-factor/recent-proof.ts";
import type { Site } from "../../identity/tokens/csrf.ts";
import type { ControlRoutes } from "../../requests/checked-route.ts";
import { acceptInvitation } from "./accept-invitation.ts";
import { createInvitation } from "./create-invitation.ts";
import { findByToken, listInvitations, notOpen } from "./invitations-store.ts";

export interface InvitationRoutesDeps {
  readonly config: Pick<ServerConfig, "identity">;
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly site: Site;
  readonly mail: Mail | undefined;
  readonly attempts: Attempts;
  readonly recordEvent: RecordEvent;
}

export function addInvitationRoutes(routes: ControlRoutes, deps: InvitationRoutesDeps): void {
  const { db, recordEvent, site, mail, log, attempts, config } = deps;
  routes.add("invitationList", async ({ org, query }) => listInvitations(db, org.id, query));
  routes.change("invitationCreate", async ({ principal, org, client, body, afterCommit }, tx) => {
    // the answer contains the link: with a stolen session, an attacker could invite a new account
    await requireRecentProof(tx, principal, config.identity.confirm_s);
    const mailLater =
      mail === undefined
        ? undefined
        : (message: Parameters<typeof mail.send>[0]) =>
            afterCommit(() => {
              mail.send(message).catch((error: unknown) => log.error({ err: error }, "could not mail an invitation"));
            });
    return createInvitation({ tx, recordEvent, site, mailLater }, { principal, org, client }, body);
  });
  routes.change("invitationRevoke", async ({ principal, org, client, params }, tx) => {
    const revoked = isUuid(params.id)
      ? await tx
          .deleteFrom("control.invitations")
          .where("id", "=", params.id)
          .where("org_id", "=", org.id)
          .returning("email")
          .executeTakeFirst()
      : undefined;
    if (revoked === undefined) throw notOpen();
    await recordEvent(tx, {
      action: "invitation.revoke",
      target: revoked.email,
      ...doneBy({ org, principal, client }),
    });
  });
  routes.add("invitationShow", async ({ params, client }) => {
    await attempts.take("invitation_address", client.ip_address);
    const { organization, email, role, expires_at: expiresAt } = await findByToken(db, params.token);
    return { organization, email, role, expires_at: expiresAt.toISOString() };
  });
  routes.change("invitationAccept", async ({ principal, params, client }, tx) =>
    acceptInvitation({ tx, recordEvent }, person(principal), params.token, client),
  );
}
