import { useSandbox } from "@appdb/testkit/sandbox";
import { testOrganizations } from "./support/organizations.ts";

// no driver is named: a machine that has what sandboxes need uses them
if ((await useSandbox()) !== undefined) testOrganizations({ SERVICE_PODS: "" });
