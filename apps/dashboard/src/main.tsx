// The dashboard's entry point. compose.tsx creates the parts, router.tsx names the pages, and routes/ has one file per
// page. features/<noun>/ contains the parts of pages, ui/ the components that are independent of the product.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { compose } from "./compose.tsx";
import "./styles.css";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element #root.");
createRoot(root).render(<StrictMode>{compose()}</StrictMode>);
