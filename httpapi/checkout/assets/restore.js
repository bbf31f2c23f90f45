// A reload: the address has no token any more, but the tab has. Or a check that is over: back to its payment.
import { action, challengeAddress, kept, paymentAddress } from "./store.js";

const over = document.body.dataset.over === "true";
if (!over && location.pathname.endsWith("/challenge") && action()) {
  location.replace(challengeAddress(action()));
} else if (kept().clientToken) {
  location.replace(paymentAddress());
} else {
  document.getElementById("restoring").hidden = true;
  document.getElementById("lost").hidden = false;
}
