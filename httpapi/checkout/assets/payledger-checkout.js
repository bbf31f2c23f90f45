// payledger-checkout.js shows the payment of a client session inside of a shop's page, in a frame of the payment service. The shop's page never
// sees a card: the fields belong to the service's origin, and messages from there have none.
//
//   const checkout = PayledgerCheckout.mount("#payment", { clientToken, onSuccess(payment) {}, onFailure(failure) {} });
//
// Options: clientToken; locale; title, of the frame; onReady(), onChange({complete, brand, invalid}), onSuccess({paymentId, status}),
// onFailure({reason, paymentId, status, declineReason}). destroy() takes the frame away.
(() => {
  "use strict";
  const page = new URL("../checkout", document.currentScript.src);
  const patience = 15_000; // from the frame's first load to the page's first message

  function mount(target, options = {}) {
    const place = typeof target === "string" ? document.querySelector(target) : target;
    if (!(place instanceof Element)) throw new TypeError(`PayledgerCheckout: there is no element ${target}`);
    if (typeof options.clientToken !== "string" || options.clientToken === "") throw new TypeError("PayledgerCheckout: clientToken is missing");

    const address = new URL(page);
    address.searchParams.set("clientToken", options.clientToken);
    address.searchParams.set("embed", location.origin);
    if (options.locale) address.searchParams.set("locale", options.locale);

    const frame = document.createElement("iframe");
    frame.title = options.title ?? "Card payment";
    frame.referrerPolicy = "no-referrer";
    Object.assign(frame.style, { display: "block", width: "100%", height: "32rem", border: "0", colorScheme: "normal" });

    let ready = false;
    let waiting = 0;
    const call = (name, detail) => typeof options[name] === "function" && options[name](detail);
    const number = (value) => (Number.isFinite(value) ? Math.min(Math.max(value, 0), 10_000) : 0);

    const handlers = {
      ready() {
        clearTimeout(waiting);
        if (!ready) call("onReady");
        ready = true;
      },
      resize: ({ height }) => { frame.style.height = `${number(height)}px`; },
      change: ({ complete, brand, invalid }) => call("onChange", { complete, brand, invalid }),
      success: ({ paymentId, status }) => call("onSuccess", { paymentId, status }),
      failure: ({ reason, paymentId, status, declineReason }) => call("onFailure", { reason, paymentId, status, declineReason }),
    };

    function onMessage(event) {
      if (event.origin !== page.origin || event.source !== frame.contentWindow) return;
      const message = event.data;
      if (message?.payledger !== 1 || !Object.hasOwn(handlers, message.type)) return;
      handlers[message.type](message);
    }

    addEventListener("message", onMessage);
    frame.addEventListener("load", () => {
      if (ready || waiting) return;
      waiting = setTimeout(() => ready || call("onFailure", { reason: "NOT_LOADED" }), patience);
    });
    frame.src = address.href;
    place.append(frame);

    return {
      destroy() {
        clearTimeout(waiting);
        removeEventListener("message", onMessage);
        frame.remove();
      },
    };
  }

  window.PayledgerCheckout = Object.freeze({ mount });
})();
