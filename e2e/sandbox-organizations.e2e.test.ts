import { useSandbox } from "@appdb/testkit/sandbox";
import { testOrganizations } from "./support/organizations.ts";

// no driver is configured: a machine that supports sandboxes uses them
if ((await useSandbox()) !== undefined) testOrganizations({ SERVICE_PODS: "" });
