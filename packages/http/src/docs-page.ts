/**
 * The API documentation page, shared by all services and without data of any. It shows the `openapi.json` next to it
 * and asks for an API key where that file requires one. The key is sent in request headers, is kept while the tab is
 * open, and never appears in an address.
 */
export const DOCS_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Routes</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/assets/swagger-ui.css">
<link rel="stylesheet" href="docs/assets/page.css">
</head>
<body>
<form id="ask" hidden>
<h1>Routes of a service</h1>
<p id="said" role="status"></p>
<label for="key">API key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="sk_...">
<button type="submit">Show the routes</button>
<p>The key stays in this tab, and goes to this service alone.</p>
</form>
<button id="forget" type="button" hidden>Forget the key</button>
<div id="routes"></div>
<noscript>This page needs JavaScript. The same is described by openapi.json next to it, with the key in the header X-api-key.</noscript>
<script src="docs/assets/swagger-ui-bundle.js"></script>
<script src="docs/assets/start.js"></script>
</body>
</html>
`;

export const DOCS_STYLE = `body { margin: 0; font-family: sans-serif; }
form { max-width: 30rem; margin: 10vh auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; }
label { display: block; margin: 1rem 0 0.3rem; }
input, button { font: inherit; padding: 0.4rem 0.6rem; }
input { width: 100%; box-sizing: border-box; margin-bottom: 0.8rem; }
#forget { position: absolute; top: 0.8rem; right: 0.8rem; }
`;

/** An empty key counts as none: a local service needs none. */
export const DOCS_SCRIPT = `"use strict";
(() => {
  const KEPT = "api key of " + location.pathname;
  const find = (id) => document.getElementById(id);

  // A route that takes files begins with its form. The page makes a file of every other type of content, also of addresses.
  function putFormsFirst(paths) {
    for (const { requestBody } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
      const content = requestBody && requestBody.content;
      const form = content && content["multipart/form-data"];
      if (!form) continue;
      requestBody.content = Object.assign({ "multipart/form-data": form }, content);
      const { properties = {}, required = [] } = form.schema || {};
      for (const [name, field] of Object.entries(properties)) {
        if (field.format === "uri") delete field.contentMediaType;
        if (!required.includes(name)) emptyField(field);
      }
    }
  }

  // The page fills in an example of each field, and would send it although no one wrote it.
  function emptyField(field) {
    const parts = [field].concat(field.anyOf || []);
    const isList = parts.some((part) => part.items || part.prefixItems || Array.isArray((part.examples || [])[0]));
    for (const part of parts) delete part.default;
    field.examples = [isList ? [] : ""];
  }

  // The page would send every empty optional field of a form, which sets a column to null.
  function leaveOutEmptyFields() {
    const wrap = (Original, system) => (props) => {
      const isIncludedOptions = Object.assign({}, props.isIncludedOptions, { defaultValue: false });
      return system.React.createElement(Original, Object.assign({}, props, { isIncludedOptions }));
    };
    return { wrapComponents: { ParameterIncludeEmpty: wrap } };
  }

  function show(description, key) {
    putFormsFirst(description.paths || {});
    find("ask").hidden = true;
    find("forget").hidden = key === "";
    document.title = description.info.title;
    const page = SwaggerUIBundle({
      spec: description,
      dom_id: "#routes",
      deepLinking: true,
      tryItOutEnabled: true,
      validatorUrl: null,
      plugins: [leaveOutEmptyFields],
      requestInterceptor: (request) => Object.assign(request, { credentials: "omit" }),
      onComplete: () => {
        if (key !== "") page.preauthorizeApiKey("ApiKey", key);
      },
    });
  }

  function ask(said) {
    sessionStorage.removeItem(KEPT);
    find("said").textContent = said;
    find("ask").hidden = false;
    find("key").focus();
  }

  async function load(key) {
    const answer = await fetch("openapi.json", {
      headers: key === "" ? {} : { "x-api-key": key },
      cache: "no-store",
      credentials: "omit",
    });
    if (answer.ok) {
      if (key !== "") sessionStorage.setItem(KEPT, key);
      show(await answer.json(), key);
      return;
    }
    const problem = await answer.json().catch(() => ({}));
    ask(answer.status === 401 && key === "" ? "" : problem.detail || "The service answered with the status " + answer.status + ".");
  }

  const start = (key) => load(key).catch(() => ask("The service was not reached."));
  find("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    void start(find("key").value.trim());
  });
  find("forget").addEventListener("click", () => {
    sessionStorage.removeItem(KEPT);
    location.reload();
  });
  void start(sessionStorage.getItem(KEPT) || "");
})();
`;
