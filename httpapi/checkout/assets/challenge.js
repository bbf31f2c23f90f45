// The sandbox's stand-in for the issuer's page: the customer passes or fails, and goes back to the payment.
import { Client, toResume } from "./api.js";
import { fit } from "./embed.js";
import { keep, keepAction, kept, paymentAddress, takeToken } from "./store.js";
import { t } from "./words.js";

const buttons = document.querySelectorAll("[data-outcome]");
const problem = document.getElementById("problem");

function tell(text) {
  problem.textContent = text;
  problem.hidden = !text;
}

function enable(on) {
  for (const button of buttons) button.disabled = !on;
}

function back() {
  if (kept().clientToken) location.replace(paymentAddress());
  else tell(t("Go back to the page of your payment to go on."));
}

async function complete(client, outcome) {
  enable(false);
  tell("");
  document.getElementById("announcer").textContent = t("One moment…");
  try {
    keep(toResume(await client.complete(outcome)));
    back();
  } catch (error) {
    if (error.status) return back(); // the check is over: the payment's page shows how it went
    document.getElementById("announcer").textContent = "";
    tell(t("No connection. Nothing was decided; try again."));
    enable(true);
  }
}

fit();
const { token, hide } = takeToken();
if (keepAction(token)) hide();
for (const button of buttons) {
  button.addEventListener("click", () => complete(new Client(token), button.dataset.outcome));
}
enable(true);
