import { keepOffline } from "#place/page";
import { render } from "preact";
import { decode, type Shared } from "./model/share";
import { followColours, followVisibility, load, notice, start } from "./state/lab";
import { App } from "./view/App";
import "./style.css";

/** What the fragment of the address holds; null if there is none, or if it is damaged. */
function fromAddress(): Shared | null {
  const fragment = location.hash.slice(1);
  if (fragment === "") return null;
  try {
    return decode(fragment);
  } catch (error) {
    notice.value = { text: error instanceof Error ? error.message : String(error), error: true };
    return null;
  }
}

start(fromAddress);
followVisibility();
followColours();
window.addEventListener("hashchange", () => {
  const found = fromAddress();
  if (found) load(found);
});
const place = document.getElementById("lab");
if (place) {
  place.replaceChildren();
  render(<App />, place);
}
keepOffline();
