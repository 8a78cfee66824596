import { sql } from "kysely";

/** Days that unused data is kept, so that an update can return to it. */
export const UNUSED_DAYS = 7;
export const UNUSED_MS = UNUSED_DAYS * 86_400_000;

/** For rows with `used_at`: whether the row was unused that long. */
export const isStale = sql<boolean>`used_at < now() - make_interval(days => ${sql.lit(UNUSED_DAYS)})`;

/** Whether an image or a tree is used by a database's state, a kept release or a kept deployment. */
export const isNamed = (column: "environment" | "tree", row: string) =>
  sql<boolean>`(exists (select from control.databases d where d.org_id = ${sql.ref(`${row}.org_id`)}
    and ${sql.ref(`${row}.${column === "tree" ? "digest" : "hash"}`)} in (d.desired ->> ${sql.lit(column)}, d.observed ->> ${sql.lit(column)}))
    or exists (select from control.releases r join control.services s on s.id = r.service_id
      where s.org_id = ${sql.ref(`${row}.org_id`)} and r.${sql.ref(column)} = ${sql.ref(`${row}.${column === "tree" ? "digest" : "hash"}`)})
    or exists (select from control.deploys p where p.org_id = ${sql.ref(`${row}.org_id`)}
      and p.before ->> ${sql.lit(column)} = ${sql.ref(`${row}.${column === "tree" ? "digest" : "hash"}`)}))`;
