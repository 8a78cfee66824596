import { createHash } from "node:crypto";
import type { PodSpec, VolumeSource } from "./pod-driver.ts";

/** Hash of a pod's spec: equal for equal specs regardless of member order. Reveals nothing about the input. */
export function specHash(spec: PodSpec): string {
  const { labels, limits } = spec;
  const parts = [
    spec.id,
    labels.organization_id,
    labels.database_id,
    labels.kind,
    spec.args,
    createHash("sha256").update(spec.input.reveal()).digest("hex"),
    spec.image,
    spec.volumes.map(({ name, source, target, access, code_parts: parts = [] }) => [
      name,
      sourceParts(source),
      target,
      access,
      ...parts.map((part) => [part.name, part.access]),
    ]),
    spec.ports,
    limits.cpu,
    limits.memory_mb,
    limits.tasks,
    spec.network,
  ];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

function sourceParts(source: VolumeSource): unknown {
  return Object.entries("pod" in source ? { kind: source.kind, ...source.pod } : source).sort();
}
