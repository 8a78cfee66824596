/** Application name of the pod's own connections. Other connections keep the database awake. */
export const POD_CONNECTIONS = "appdb pod";
/** Application name of the daemon's connections. */
export const DAEMON_CONNECTIONS = "appdb daemon";
