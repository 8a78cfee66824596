// The dashboard's first file. compose.tsx makes the parts, router.tsx names the pages, routes/ has one file a page,
// features/<noun>/ what pages consist of, ui/ the components that know nothing of the product.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { compose } from "./compose.tsx";
import "./styles.css";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element #root.");
createRoot(root).render(<StrictMode>{compose()}</StrictMode>);
