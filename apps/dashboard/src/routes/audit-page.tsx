import { useState } from "react";
import { KEYS } from "../api/queries.ts";
import { useList } from "../api/use-list.ts";
import { EventsTable } from "../features/audit/events-table.tsx";
import { mergeEvents } from "../features/audit/merge-events.ts";
import { useFollow } from "../features/audit/use-follow.ts";
import { useOrg } from "../features/organizations/use-org.ts";
import { ProblemAlert } from "../ui/alert.tsx";
import { Button } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { Page } from "../ui/page.tsx";

/** Who changed what, when, from where, and what came of it. */
export function AuditPage() {
  const org = useOrg();
  const [following, setFollowing] = useState(false);
  const list = useList(KEYS.events(org.name), (api, query, options) =>
    api.control.call("eventList", { params: { org: org.name }, query }, options),
  );
  const live = useFollow(org.name, following && list.items !== undefined, list.items?.[0]?.id);
  const events = list.items === undefined ? undefined : mergeEvents(live.events, list.items);
  return (
    <Page
      title="Audit log"
      lead="Every change: who made it, when, from where, and what came of it. Nothing is ever changed or removed here."
      actions={
        <Button
          aria-pressed={following}
          className="aria-pressed:border-accent aria-pressed:bg-accent-soft"
          onClick={() => setFollowing(!following)}
        >
          <span
            aria-hidden="true"
            className={classNames("size-2 rounded-full", following && live.error === null ? "bg-good" : "bg-field")}
          />
          Follow
        </Button>
      }
    >
      {live.error && <ProblemAlert error={live.error} />}
      <EventsTable list={{ ...list, items: events }} />
      <p role="status" className="sr-only">
        {live.events.length > 0 && `${live.events.length} new events`}
      </p>
    </Page>
  );
}
