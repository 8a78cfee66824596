import { useState } from "react";
import { KEYS } from "../api/queries.ts";
import { useList } from "../api/use-list.ts";
import { EventsTable } from "../features/audit/events-table.tsx";
import { mergeEvents } from "../features/audit/merge-events.ts";
import { useFollow } from "../features/audit/use-follow.ts";
import { useOrg } from "../features/organizations/use-org.ts";
import { ProblemAlert } from "../ui/alert.tsx";
import { Command } from "../ui/command.tsx";
import { Page } from "../ui/page.tsx";
import { ToggleButton } from "../ui/toggle-button.tsx";

/** Who changed what, when, from where, with the result. */
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
      lead="All changes: who made them, when, from where, and the result. Entries are never changed or removed."
      actions={
        <ToggleButton pressed={following} works={live.error === null} onToggle={() => setFollowing(!following)}>
          Follow
        </ToggleButton>
      }
    >
      {live.error && <ProblemAlert error={live.error} />}
      <EventsTable list={{ ...list, items: events }} />
      <p>
        <Command text={`cli events --org ${org.name}${following ? " --follow" : ""}`} />
      </p>
      <p role="status" className="sr-only">
        {live.events.length > 0 && `${live.events.length} new events`}
      </p>
    </Page>
  );
}
