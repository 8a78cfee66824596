import { describeFullServer } from "@appdb/contract/control/database-advice";
import type { Database } from "@appdb/contract/routes/control-databases";
import { Alert } from "../../ui/alert.tsx";
import { Command } from "../../ui/command.tsx";
import { TextLink } from "../../ui/text-link.tsx";
import { Time } from "../../ui/time.tsx";

/** The most important notes about the database: that it failed, is full, or is being deleted. */
export function StateNotes({ database }: { readonly database: Database }) {
  const { failure, purged_at: purgedAt, state, uri, usage } = database;
  const full = describeFullServer(database);
  return (
    <>
      {full && (
        <Alert kind="warn" title={full.what}>
          <p>{full.hint}</p>
        </Alert>
      )}
      {state === "FAILED" && failure && (
        <Alert kind="problem" title={failure.detail}>
          {failure.hint && <p>{failure.hint}</p>}
          <BuildLink database={database} />
        </Alert>
      )}
      {state !== "FAILED" && <BuildNote database={database} />}
      {usage?.is_disk_full && (
        <Alert kind="warn" title="Its disk is full: rows can be read, but not written">
          <p>
            Delete data that is not needed, or set a larger <code>disk_gb</code> in its entry of service.toml and apply
            it:
          </p>
          <p>
            <Command text={`cli db update ${uri}`} />
          </p>
        </Alert>
      )}
      {isMediaFull(usage) && (
        <Alert kind="warn" title="Its media store is full: files can be read, but not stored">
          <p>
            Remove files that are not needed and free their space, or set a larger <code>media_gb</code> in its entry of
            service.toml and apply it:
          </p>
          <p>
            <Command text={`cli media prune ${uri.replace(/^cloud:/, "mediafs:")}/home`} />
          </p>
          <p>
            <Command text={`cli db update ${uri}`} />
          </p>
        </Alert>
      )}
      {state === "DELETING" && purgedAt && (
        <Alert kind="warn" title="It was deleted">
          <p>
            Its data is kept until <Time at={purgedAt} />. Until then you can undelete it.
          </p>
        </Alert>
      )}
    </>
  );
}

function isMediaFull(usage: Database["usage"]): boolean {
  return usage?.media_limit_bytes != null && (usage.media_bytes ?? 0) >= usage.media_limit_bytes;
}

/** After a failed build the database keeps its previous image. */
function BuildNote({ database }: { readonly database: Database }) {
  const { last_build: lastBuild, image } = database;
  if (lastBuild?.state !== "failed") return null;
  const runs = image.hash === null ? "the base library alone" : "the previous image";
  return (
    <Alert kind="warn" title={`The last build failed; the database runs ${runs}`}>
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
        See the output of the build
      </TextLink>
    </p>
  );
}
