import { sql } from "kysely";

/** What nothing uses any more is kept for so many days: an update that goes back finds it. */
export const UNUSED_DAYS = 7;
export const UNUSED_MS = UNUSED_DAYS * 86_400_000;

/** Of a row with `used_at`: whether it was not used for so long. */
export const isStale = sql<boolean>`used_at < now() - make_interval(days => ${sql.lit(UNUSED_DAYS)})`;

/** Of an image or a tree: whether a database is to have it, or has it, a release that is kept runs with it, or a deployment that is kept can be undone to it. */
export const isNamed = (column: "environment" | "tree", row: string) =>
  sql<boolean>`(exists (select from control.databases d where d.org_id = ${sql.ref(`${row}.org_id`)}
    and ${sql.ref(`${row}.${column === "tree" ? "digest" : "hash"}`)} in (d.desired ->> ${sql.lit(column)}, d.observed ->> ${sql.lit(column)}))
    or exists (select from control.releases r join control.services s on s.id = r.service_id
      where s.org_id = ${sql.ref(`${row}.org_id`)} and r.${sql.ref(column)} = ${sql.ref(`${row}.${column === "tree" ? "digest" : "hash"}`)})
    or exists (select from control.deploys p where p.org_id = ${sql.ref(`${row}.org_id`)}
      and p.before ->> ${sql.lit(column)} = ${sql.ref(`${row}.${column === "tree" ? "digest" : "hash"}`)}))`;
