import { PERMISSIONS, type Permission, ROLES, roleHas } from "@appdb/contract/permissions";
import { CONTROL_ROUTES, type ControlRouteName, controlRoute } from "@appdb/contract/routes/control-paths";

/** docs/permissions.md: who may do what in an organization, from the table that the checks read. */
export function permissionsPage(generated: string): string {
  const permissions = Object.keys(PERMISSIONS) as Permission[];
  const lines = [
    "# Who may do what",
    "",
    generated,
    "",
    "Each member of an organization has one role. A key without grants may do what its creator may at that moment; a key with",
    "grants has none of these permissions, it may exactly what its grants say ([api-keys.md](api-keys.md)). Whoever is no member",
    "is told that there is no such organization, whether there is one or not.",
    "",
    `| may | ${ROLES.join(" | ")} | permission |`,
    `|---|${ROLES.map(() => "---").join("|")}|---|`,
    ...permissions.map((permission) => {
      const cells = ROLES.map((role) => (roleHas(role, permission) ? "yes" : ""));
      return `| ${PERMISSIONS[permission].what} | ${cells.join(" | ")} | \`${permission}\` |`;
    }),
    "",
    "Everybody may leave an organization, delete keys of their own and cancel operations of their own. Nobody makes an owner of",
    "somebody but an owner, and the last owner stays.",
    "",
    "## What each route asks for",
    "",
    "`public`: nothing. `signed_in`: a person, or a key that acts as one. All else is a permission in the organization of the path.",
    "`or manage`: a key with `manage` grants may call it as well, for the services that they name.",
    "",
    "| route | | asks for |",
    "|---|---|---|",
    ...(Object.keys(CONTROL_ROUTES) as ControlRouteName[])
      .map(controlRoute)
      .map(
        ({ by_grant: byGrant, method, path, permission, summary }) =>
          `| \`${method} ${path}\` | ${summary} | \`${permission}\`${byGrant === true ? " or `manage`" : ""} |`,
      ),
  ];
  return `${lines.join("\n")}\n`;
}
