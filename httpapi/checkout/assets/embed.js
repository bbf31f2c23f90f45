// The shop's page around this one, if payledger-checkout.js shows it there. It learns how the payment goes, and nothing of a card. Only the
// origin that the account allows gets the messages: the browser drops those for a page of another origin.
const origin = document.body.dataset.embed ?? "";

export const embedded = origin !== "" && parent !== window;

export function send(type, detail = {}) {
  if (embedded) parent.postMessage({ payledger: 1, type, ...detail }, origin);
}

// fit lets the frame be as high as the page.
export function fit() {
  if (!embedded) return;
  const tell = () => send("resize", { height: Math.ceil(document.body.getBoundingClientRect().height) });
  new ResizeObserver(tell).observe(document.body);
  tell();
}
