// Back from the processor's page of a required action: the action has ended, and the payment goes on. How it ended, the
// processor knows.
import { Client, toResume } from "./api.js";
import { action, keep, kept, paymentAddress } from "./store.js";
import { t } from "./words.js";

const problem = document.getElementById("problem");
const again = document.getElementById("again");

function stay(heading, text) {
  document.getElementById("heading").textContent = heading;
  document.getElementById("text").textContent = text;
}

function back() {
  if (kept().clientToken) location.replace(paymentAddress());
  else stay(t("The check is over"), t("Go back to the page of your payment to go on."));
}

async function complete() {
  problem.hidden = again.hidden = true;
  document.getElementById("announcer").textContent = t("One moment…");
  try {
    keep(toResume(await new Client(action()).complete("AUTHENTICATED")));
    back();
  } catch (error) {
    if (error.status) return back(); // the check is over: the payment's page shows how it went
    document.getElementById("announcer").textContent = "";
    problem.textContent = t("No connection. Nothing was decided; try again.");
    problem.hidden = again.hidden = false;
  }
}

again.addEventListener("click", complete);
if (action()) complete();
else stay(t("The check is over"), t("Go back to the page of your payment to go on."));
