/** Prefix of the application names of services. Services stay connected and report their own use. */
export const SERVICE_CONNECTIONS = "appdb service";
/** Ends the application names of connections that read for people and the data API. */
export const READS = " reads";
/** The names of roles of psql's sessions begin so. The digits of their database follow. */
export const SESSION_PREFIX = "psql_";

/** Whether a change may end a read of a connection in `a`, a row of `pg_stat_activity`: someone waits for an error. */
export const READS_FOR_SOMEONE = `(starts_with(coalesce(a.application_name, ''), '${SERVICE_CONNECTIONS} ')
    or right(a.application_name, ${READS.length}) = '${READS}' or starts_with(a.usename, '${SESSION_PREFIX}'))`;
