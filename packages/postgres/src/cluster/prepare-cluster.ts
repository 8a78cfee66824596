import { quoteIdent } from "@appdb/engine/sql/quote";
import { OWNER, type Passwords, SUPERUSER, scramVerifier } from "./cluster-access.ts";
import { createWith, withClient } from "./database-admin.ts";

/** Version of the roles and owners made here. Clusters with a lower version are updated at their next start. */
export const PREPARED = 1;

/** The engine's schema, where it expects pgvector. */
const ENGINE_SCHEMA = "appdb";
/** Fixed advisory lock number; the holder prepares a database. */
const LOCK = 5_178_302;
/** A database that every cluster of several databases has. */
const FIRST_DATABASE = "postgres";
const WRONG_PASSWORD = "28P01";

const OWNER_RIGHTS = "login nosuperuser nocreatedb nocreaterole noreplication nobypassrls inherit";

/**
 * Creates the owner's role and makes service roles members of it; older versions made them members of the superuser.
 * `pg_read_all_stats` and `pg_signal_backend` let the engine count and cancel its own connections in other roles. Safe
 * to repeat. Contains no comment lines, because it also runs as one line.
 */
const PREPARE_ROLES = `
do $$
declare member name;
begin
  if not exists (select from pg_roles where rolname = '${OWNER}') then create role ${OWNER}; end if;
  alter role ${OWNER} ${OWNER_RIGHTS};
  grant pg_read_all_stats, pg_signal_backend to ${OWNER};
  for member in select m.rolname from pg_auth_members a join pg_roles m on m.oid = a.member
    join pg_roles r on r.oid = a.roleid where r.rolname = '${SUPERUSER}' and m.rolname ~ '^svc_[0-9a-f]{12}$'
  loop
    execute format('revoke ${SUPERUSER} from %I', member);
    execute format('grant ${OWNER} to %I', member);
    execute format('alter role %I set role = ${OWNER}', member);
  end loop;
end
$$`;

/**
 * Gives the owner all objects of users and the engine that the superuser owns in a database. Objects of extensions
 * stay.
 */
const MOVE_OWNERS = `
do $$
declare statement text;
begin
  for statement in
    with made(class, id, schema) as (
      select 'pg_class'::regclass, c.oid, c.relnamespace from pg_class c
        where c.relowner = '${SUPERUSER}'::regrole and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
          and not (c.relkind = 'S' and exists (select from pg_depend d where d.classid = 'pg_class'::regclass
            and d.objid = c.oid and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')))
      union all select 'pg_proc'::regclass, oid, pronamespace from pg_proc where proowner = '${SUPERUSER}'::regrole
      union all select 'pg_type'::regclass, t.oid, t.typnamespace from pg_type t left join pg_class c on c.oid = t.typrelid
        where t.typowner = '${SUPERUSER}'::regrole
          and (t.typtype in ('d', 'e', 'r') or (t.typtype = 'c' and c.relkind = 'c'))
      union all select 'pg_collation'::regclass, oid, collnamespace from pg_collation where collowner = '${SUPERUSER}'::regrole
      union all select 'pg_statistic_ext'::regclass, oid, stxnamespace from pg_statistic_ext where stxowner = '${SUPERUSER}'::regrole
      union all select 'pg_namespace'::regclass, oid, oid from pg_namespace where nspowner = '${SUPERUSER}'::regrole
    )
    select format('alter %s %s owner to ${OWNER}', case found.type when 'statistics object' then 'statistics' else found.type end,
        found.identity)
      from made join pg_namespace n on n.oid = made.schema, pg_identify_object(made.class, made.id, 0) found
      where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
        and not exists (select from pg_depend d where d.classid = made.class and d.objid = made.id and d.deptype = 'e')
      order by made.class = 'pg_namespace'::regclass desc, made.id
  loop
    execute statement;
  end loop;
end
$$`;

const MAKE_VECTOR = [
  `create schema if not exists ${ENGINE_SCHEMA} authorization ${OWNER}`,
  `create extension if not exists vector schema ${ENGINE_SCHEMA}`,
];

export interface PrepareOptions {
  /** Whether the databases belong to the engine and get its schema with pgvector. */
  readonly has_vector: boolean;
}

/** Statements, one per line, that a new cluster with the only database `database` runs as its superuser. */
export function preparedFromStart(database: string, passwords: Passwords): string[] {
  const statements = [
    PREPARE_ROLES,
    ...setPasswords(passwords),
    ...MAKE_VECTOR,
    `alter database ${quoteIdent(database)} owner to ${OWNER}`,
  ];
  return statements.map((statement) => statement.replaceAll(/\s*\n\s*/g, " ").trim());
}

function setPasswords({ owner, superuser }: Passwords): string[] {
  return [
    `alter role ${SUPERUSER} password '${scramVerifier(superuser)}'`,
    `alter role ${OWNER} ${OWNER_RIGHTS} password '${scramVerifier(owner)}'`,
  ];
}

/** Statement that sets the superuser's password when it is unknown. */
export function resetPassword(password: string): string {
  return `alter role ${SUPERUSER} password '${scramVerifier(password)}'`;
}

/**
 * Sets both roles' passwords for this run and, on request, updates the roles, over one connection.
 * @throws database_unavailable; returns false when the server refuses the given password
 */
export async function takeRoles(dsn: string, passwords: Passwords, arranges: boolean): Promise<boolean> {
  try {
    await withClient(dsn, async (client) => {
      // after a crash the previous password may be valid again; it is still known then
      const statements = ["begin", "set local synchronous_commit = off", ...setPasswords(passwords), "commit"];
      if (arranges) statements.splice(2, 0, PREPARE_ROLES);
      await client.query(statements.join(";\n"));
    });
    return true;
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    if (cause instanceof Error && "code" in cause && cause.code === WRONG_PASSWORD) return false;
    throw error;
  }
}

/**
 * Gives a database and its contents to the owner in one transaction. `dsn` is the superuser's. Safe to repeat and to
 * run concurrently.
 * @throws database_unavailable
 */
export async function prepareDatabase(
  dsn: string,
  database: string,
  { has_vector: hasVector }: PrepareOptions,
): Promise<void> {
  await withClient(dsn, async (client) => {
    await client.query("begin");
    await client.query("select pg_advisory_xact_lock($1)", [LOCK]);
    for (const statement of hasVector ? MAKE_VECTOR : []) await client.query(statement);
    await client.query(MOVE_OWNERS);
    // readers of other databases (reader-role.ts)
    await client.query(`revoke connect, temporary on database ${quoteIdent(database)} from public`);
    // last: a database with this owner is complete
    await client.query(`alter database ${quoteIdent(database)} owner to ${OWNER}`);
    await client.query("commit");
  });
}

/**
 * Creates a database of the owner's unless it exists. `dsnOf` returns the superuser's connection string. Safe to repeat
 * and to run concurrently.
 */
export async function ensureOwnDatabase(
  dsnOf: (database: string) => string,
  database: string,
  options: PrepareOptions,
): Promise<void> {
  const isComplete = await withClient(dsnOf(FIRST_DATABASE), async (client) => {
    await createWith(client, database);
    const found = await client.query<{ complete: boolean }>(
      `select datdba = '${OWNER}'::regrole as complete from pg_database where datname = $1`,
      [database],
    );
    return found.rows[0]?.complete === true;
  });
  if (!isComplete) await prepareDatabase(dsnOf(database), database, options);
}
