// To the processor's page of a required action. The tab keeps the action's token for the way back.
import { keepAction, takeToken } from "./store.js";

const { token, hide } = takeToken();
if (keepAction(token)) {
  hide();
  location.replace(document.body.dataset.address);
} else {
  document.getElementById("problem").hidden = false;
}
