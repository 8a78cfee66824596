import { quoteIdent } from "@appdb/engine/sql/quote";
import { OWNER, type Passwords, SUPERUSER, scramVerifier } from "./cluster-access.ts";
import { createWith, withClient } from "./database-admin.ts";

/** Number of the arrangement that is made here; clusters that have a lower one are arranged at their next start. */
export const PREPARED = 1;

/** The engine's own schema, in which it expects pgvector. */
const ENGINE_SCHEMA = "appdb";
/** Any number, the same for ever: who holds it arranges a database. */
const LOCK = 5_178_302;
/** The one that every cluster of several databases has. */
const FIRST_DATABASE = "postgres";
const WRONG_PASSWORD = "28P01";

const OWNER_RIGHTS = "login nosuperuser nocreatedb nocreaterole noreplication nobypassrls inherit";

/**
 * Makes the owner's role, and has services' roles work as that one, which older versions let work as the superuser. `pg_read_all_stats` and
 * `pg_signal_backend` let the engine count and cancel its own connections in other roles. Safe to repeat; no line of it is a comment,
 * since it is also run as one line.
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

/** Gives the owner all that the superuser owns in a database and that people or the engine made; what extensions made stays. */
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
  /** Whether the databases are the engine's: they have its schema, and pgvector in it. */
  readonly has_vector: boolean;
}

/** Statements, one a line, for a new cluster in which `database` is the only one, as its superuser. */
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

/** The statement that gives the superuser a password where none is known. */
export function resetPassword(password: string): string {
  return `alter role ${SUPERUSER} password '${scramVerifier(password)}'`;
}

/**
 * Gives both roles their passwords for this run, and arranges the roles when that is asked for, over one connection.
 * @throws database_unavailable; false when the server does not take the password that was shown
 */
export async function takeRoles(dsn: string, passwords: Passwords, arranges: boolean): Promise<boolean> {
  try {
    await withClient(dsn, async (client) => {
      // after a crash the former password may hold again, which is still known then
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
 * Makes a database the owner's, with all that is in it, in one transaction. `dsn` is the superuser's. Safe to repeat and to race.
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
    // last: what has this owner is complete
    await client.query(`alter database ${quoteIdent(database)} owner to ${OWNER}`);
    await client.query("commit");
  });
}

/** Makes a database of the owner's unless it is there. `dsnOf` gives the superuser's. Safe to repeat and to race. */
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
