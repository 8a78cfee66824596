import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { Form, fieldProblem } from "../../ui/form.tsx";
import { EmailField } from "./email-field.tsx";
import { enter } from "./enter.ts";
import { PasswordField } from "./password-field.tsx";

interface SignUpFormProps {
  /** Set for an invitation, which fixes the address. */
  readonly invitation?: { readonly token: string; readonly email: string; readonly organization: string };
}

interface Filled {
  readonly email: string;
  readonly name: string;
  readonly password: string;
}

export function SignUpForm({ invitation }: SignUpFormProps) {
  const signUp = useAction(
    async (api, filled: Filled, options) => {
      await api.auth.signUp({ ...filled, ...(invitation === undefined ? {} : { invitation: invitation.token }) });
      if (invitation === undefined) return;
      await api.control.call("invitationAccept", { params: { token: invitation.token } }, options);
    },
    { onDone: () => enter(invitation === undefined ? "/" : `/orgs/${invitation.organization}`) },
  );
  return (
    <Form
      error={signUp.error}
      onSubmit={(value) =>
        signUp.run({
          email: invitation?.email ?? value("email"),
          name: value("name"),
          password: value("password"),
        })
      }
    >
      <EmailField fixed={invitation?.email} problem={fieldProblem(signUp.error, "/email")} />
      <Field label="Your name" name="name" autoComplete="name" required problem={fieldProblem(signUp.error, "/name")} />
      <PasswordField isNew problem={fieldProblem(signUp.error, "/password")} />
      <Button type="submit" look="primary" busy={signUp.pending}>
        {invitation === undefined ? "Sign up" : `Sign up and join ${invitation.organization}`}
      </Button>
    </Form>
  );
}
