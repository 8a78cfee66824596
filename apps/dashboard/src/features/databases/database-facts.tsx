import type { Database } from "@appdb/contract/routes/control-databases";
import type { ReactNode } from "react";
import { Badge } from "../../ui/badge.tsx";
import { formatBytes, formatCount, formatDuration, plural } from "../../ui/format.ts";
import { Meter } from "../../ui/meter.tsx";
import { Card, Facts, Section } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";

/** Its resources, with the desired ones during an update, and its usage. */
export function ResourcesSection({ database }: { readonly database: Database }) {
  const { resources, desired_resources: desiredResources, usage, used } = database;
  const fact = (name: string, key: keyof typeof resources, write: (value: number) => string) => {
    const becomes = resources[key] === desiredResources[key] ? undefined : write(desiredResources[key]);
    return [
      name,
      <span key={key} className="inline-flex flex-wrap gap-x-2 tabular-nums">
        {write(resources[key])}
        {becomes && <Badge tone="accent">becomes {becomes}</Badge>}
      </span>,
    ] as const;
  };
  return (
    <Section title="Resources">
      <Card>
        <div className="grid gap-5">
          <Facts
            aligned
            facts={[
              fact("CPU", "cpu", (cores) => plural(cores, "core")),
              fact("Memory", "memory_mb", (mb) => `${formatCount(mb)} MiB`),
              fact("Disk", "disk_gb", (gb) => `${formatCount(gb)} GiB`),
              fact("Workers", "workers", (count) => plural(count, "Python process", "Python processes")),
              ["Sleeps", sleepOf(database)],
              [
                "Used so far",
                `${formatDuration(used.cpu_seconds * 1_000)} of processors, ${formatDuration(used.awake_seconds * 1_000)} awake`,
              ],
            ]}
          />
          {usage && (
            <div className="grid gap-3.5 border-t border-line pt-4">
              <Meter
                label="Disk used"
                value={usage.disk_bytes}
                max={usage.disk_limit_bytes}
                text={`${usage.disk_bytes === 0 ? "-" : formatBytes(usage.disk_bytes)} of ${formatBytes(usage.disk_limit_bytes)}`}
              />
              <MediaUsage usage={usage} />
              {usage.memory_bytes !== null && (
                <Meter
                  label="Memory used"
                  value={usage.memory_bytes}
                  max={resources.memory_mb * 1024 * 1024}
                  text={`${formatBytes(usage.memory_bytes)} of ${formatCount(resources.memory_mb)} MiB`}
                />
              )}
              {usage.measured_at && (
                <p className="text-sm text-muted">
                  Disk and media were counted <Time at={usage.measured_at} />.
                </p>
              )}
            </div>
          )}
        </div>
      </Card>
    </Section>
  );
}

/** What its media store holds, where, and its limit there. */
function MediaUsage({ usage }: { readonly usage: NonNullable<Database["usage"]> }) {
  const {
    is_media_in_bucket: isInBucket,
    media_bytes: bytes,
    media_limit_bytes: limit,
    media_objects: objects,
  } = usage;
  if (bytes === undefined || objects === undefined) return null;
  const held = `${formatBytes(bytes)} in ${plural(objects, "file")}`;
  if (isInBucket && limit != null) {
    const label = "Media in the bucket of the server";
    return <Meter label={label} value={bytes} max={limit} text={`${held}, of ${formatBytes(limit)}`} />;
  }
  return (
    <div className="flex flex-wrap justify-between gap-x-4 text-sm">
      <span className="text-muted">{isInBucket ? "Media in the bucket of the server" : "Media, part of the disk"}</span>
      <span className="tabular-nums">{held}</span>
    </div>
  );
}

function sleepOf({ sleep_after: sleepAfter, wake_on_request: wakeOnRequest }: Database): string {
  if (sleepAfter === "never") return "never automatically";
  return `after ${sleepAfter} without use; ${wakeOnRequest ? "requests wake it" : "requests do not wake it"}`;
}

/** Its Python environment and files. */
export function ProjectSection({ database }: { readonly database: Database }) {
  const { image, last_build: lastBuild, project } = database;
  const facts: [string, ReactNode][] = [
    ["Environment", image.source === null ? "the base library alone" : <code key="source">{image.source}</code>],
    ["Python", image.python ?? <None key="python">the newest of the service</None>],
  ];
  if (image.hash !== null) {
    facts.push(
      ["Packages", `${formatCount(image.packages)}, ${formatBytes(image.bytes)}`],
      ["Built", <Time key="built" at={image.built_at} />],
      ["Hash", <Digest key="hash" digest={image.hash} />],
    );
  }
  if (lastBuild?.state === "running")
    facts.push([
      "Next image",
      <Badge key="next" tone="accent">
        is being built
      </Badge>,
    ]);
  return (
    <Section title="Image and project files">
      <Card>
        <div className="grid gap-5">
          <Facts aligned facts={facts} />
          <div className="border-t border-line pt-4">
            {project === null ? (
              <p className="text-sm text-muted">No project files have been uploaded.</p>
            ) : (
              <Facts
                aligned
                facts={[
                  ["Files", `${plural(project.files, "file")}, ${formatBytes(project.bytes)}`],
                  ["Uploaded", <Time key="uploaded" at={project.uploaded_at} />],
                  ["Digest", <Digest key="digest" digest={project.digest} />],
                ]}
              />
            )}
          </div>
        </div>
      </Card>
    </Section>
  );
}

/** Shortened like git's. The title has the whole digest. */
function Digest({ digest }: { readonly digest: string }) {
  return (
    <code className="text-xs" title={digest}>
      {digest.slice(0, 12)}
    </code>
  );
}

function None({ children }: { readonly children: ReactNode }) {
  return <span className="text-muted">{children}</span>;
}
