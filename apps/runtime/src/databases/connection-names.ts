/** What PostgreSQL knows the pod's own connections by; others keep the database awake. */
export const POD_CONNECTIONS = "appdb pod";
/** What the names of services' connections begin with. They are there as long as the services, which say themselves whether they are used. */
export const SERVICE_CONNECTIONS = "appdb service";
