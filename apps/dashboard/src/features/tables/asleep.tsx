import type { Database } from "@appdb/contract/routes/control-databases";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { Command } from "../../ui/command.tsx";
import { Empty } from "../../ui/table.tsx";
import { useChange } from "../databases/use-change.ts";

/** Shown in place of the tables if the database does not answer. */
export function Asleep({ database }: { readonly database: Database }) {
  const { name, organization, state, uri } = database;
  const start = useChange(database, (api, _: undefined, options) =>
    api.control.call("databaseStart", { params: { org: organization, db: name } }, options),
  );
  const stays = state === "STOPPED" || state === "FAILED" || state === "DELETING";
  return (
    <div className="rounded-lg border border-dashed border-line px-6 py-10">
      <Empty
        title={state === "STOPPED" ? "Tables can be read while the database is awake" : `The database is ${state}`}
      >
        {!stays && <p>Its tables appear here automatically once it answers.</p>}
        {state === "STOPPED" && (
          <div className="grid justify-items-center gap-3">
            {start.error && <ProblemAlert error={start.error} />}
            <Button look="primary" busy={start.pending} onClick={() => start.run(undefined)}>
              Start {name}
            </Button>
            <Command text={`cli db start ${uri}`} />
          </div>
        )}
      </Empty>
    </div>
  );
}
