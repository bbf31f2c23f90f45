// A reload: the address has no token any more, but the tab has.
import { action, challengeAddress, kept, paymentAddress } from "./store.js";

if (location.pathname.endsWith("/challenge") && action()) {
  location.replace(challengeAddress(action()));
} else if (kept().clientToken) {
  location.replace(paymentAddress());
} else {
  document.getElementById("restoring").hidden = true;
  document.getElementById("lost").hidden = false;
}
