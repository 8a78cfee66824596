import type { Database } from "@appdb/contract/routes/control-databases";
import { Alert } from "../../ui/alert.tsx";
import { Command } from "../../ui/command.tsx";
import { TextLink } from "../../ui/text-link.tsx";
import { Time } from "../../ui/time.tsx";

/** What somebody has to know about the database before anything else: that it failed, is full, or goes away. */
export function StateNotes({ database }: { readonly database: Database }) {
  const { failure, purged_at: purgedAt, state, uri, usage } = database;
  return (
    <>
      {state === "FAILED" && failure && (
        <Alert kind="problem" title={failure.detail}>
          {failure.hint && <p>{failure.hint}</p>}
          <BuildLink database={database} />
        </Alert>
      )}
      {state !== "FAILED" && <BuildNote database={database} />}
      {usage?.is_disk_full && (
        <Alert kind="warn" title="Its disk is full: rows are read, and none can be written">
          <p>
            Delete what is not needed, or write a larger <code>disk_gb</code> into its entry of service.toml and apply
            it:
          </p>
          <p>
            <Command text={`cli db update ${uri}`} />
          </p>
        </Alert>
      )}
      {state === "DELETING" && purgedAt && (
        <Alert kind="warn" title="It was deleted">
          <p>
            Its data is kept until <Time at={purgedAt} />. Until then the deletion can be taken back.
          </p>
        </Alert>
      )}
    </>
  );
}

/** A build that failed leaves the database with the image that it had. */
function BuildNote({ database }: { readonly database: Database }) {
  const { last_build: lastBuild, image } = database;
  if (lastBuild?.state !== "failed") return null;
  const runs = image.hash === null ? "the base library alone" : "the image that it had";
  return (
    <Alert kind="warn" title={`The last build failed; it runs ${runs}`}>
      {lastBuild.error && <p>{lastBuild.error.detail}</p>}
      {lastBuild.error?.hint && <p>{lastBuild.error.hint}</p>}
      <BuildLink database={database} />
    </Alert>
  );
}

function BuildLink({ database: { last_build: lastBuild, organization } }: { readonly database: Database }) {
  if (lastBuild?.state !== "failed" || lastBuild.operation_id === null) return null;
  return (
    <p>
      <TextLink to="/orgs/$org/operations/$operation" params={{ org: organization, operation: lastBuild.operation_id }}>
        See what the build printed
      </TextLink>
    </p>
  );
}
