import { sql } from "kysely";
import type { ControlDatabase } from "../../database/pool.ts";
import type { RoutedDatabase } from "./routing-table.ts";

/** Reads databases and their services, all or one. A database that is being deleted is missing. */
export async function readRoutes(db: ControlDatabase, id?: string): Promise<RoutedDatabase[]> {
  const { rows } = await sql<RoutedDatabase>`
    select d.id, d.org_id, o.name as organization, d.name, d.state,
      coalesce((d.desired -> 'settings' ->> 'wake_on_request')::boolean, false) as is_woken,
      o.suspended_at is not null as is_suspended,
      d.gateway_label as label, d.gateway_port as port,
      coalesce((select json_agg(json_build_object(
          'id', s.id, 'name', s.name, 'state', s.state, 'instance', (s.observed ->> 'instance')::int,
          'cors', (select r.cors from control.releases r where r.service_id = s.id
            and r.number = coalesce(s.observed ->> 'release', s.desired ->> 'release')::int),
          'is_failing', s.failure is not null,
          'is_wanted', coalesce((s.desired ->> 'is_running')::boolean, false)) order by s.name)
        from control.services s where s.database_id = d.id and not s.is_pruned), '[]') as services
    from control.databases d join control.organizations o on o.id = d.org_id
    where d.state <> 'DELETING' and ${id === undefined ? sql`true` : sql`d.id = ${id}`}`.execute(db);
  return rows;
}
