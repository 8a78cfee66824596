import { getRouteApi } from "@tanstack/react-router";
import { DeviceQuestion } from "../features/accounts/device-question.tsx";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Form } from "../ui/form.tsx";
import { PageHeading } from "../ui/page.tsx";

const route = getRouteApi("/signed-in/device");

/** Confirms that a terminal may act as the signed-in person. */
export function DevicePage() {
  const { user_code: userCode } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <main id="content" className="mx-auto grid w-full max-w-[30rem] content-start gap-5 px-5 pt-[7vh] pb-16">
      <PageHeading title="Sign in a terminal" />
      {userCode === undefined ? (
        <div className="rounded-xl border border-line bg-surface p-6">
          <Form
            onSubmit={(value) => {
              const code = value("user_code").trim().toUpperCase();
              if (code !== "") void navigate({ search: { user_code: code } });
            }}
          >
            <Field
              label="Code"
              name="user_code"
              help="The code that your terminal shows."
              autoComplete="off"
              autoCapitalize="characters"
              spellCheck={false}
              maxLength={20}
              className="font-mono tracking-widest uppercase"
            />
            <Button type="submit" look="primary">
              Continue
            </Button>
          </Form>
        </div>
      ) : (
        <DeviceQuestion key={userCode} code={userCode} />
      )}
    </main>
  );
}
