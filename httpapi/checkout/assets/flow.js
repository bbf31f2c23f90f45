// One payment, step by step. Each step reads what the tab keeps, asks the service once, and keeps what it learned;
// run goes on until there is something for the customer to do or to read. Because nothing but what is kept decides
// the next step, a reload, a lost answer and the usual way are the same code.
import { Client, toResume, Unknown } from "./api.js";
import { challengeAddress, keep, kept, nothing, paymentAddress } from "./store.js";
import { t } from "./words.js";

const paid = ["AUTHORIZED", "SETTLING", "PARTIALLY_SETTLED", "SETTLED"];
const ends = { DECLINED: "declined", FAILED: "failed", CANCELLED: "cancelled" };
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// until waits, but not past the moment when the network is back.
const until = (ms) => Promise.race([pause(ms), new Promise((done) => addEventListener("online", done, { once: true }))]);

export class Flow {
  // view shows a state: view.show(name, payment); view.trouble(text) says what is in the way, "" takes it back.
  constructor(client, { manual, sandbox }, view) {
    Object.assign(this, { client, manual, sandbox, view, running: false, polls: 0 });
  }

  // run carries the payment on. A second call while it runs does nothing: a storm of clicks is one payment.
  async run() {
    if (this.running) return;
    this.running = true;
    for (let failures = 0, going = true; going;) {
      try {
        going = await this.step(kept());
        failures = 0;
        this.view.trouble("");
      } catch (error) {
        if (!(error instanceof Unknown)) {
          this.refused(error);
          break;
        }
        this.view.trouble(t("No connection to the payment service. Do not pay again: this page is finding out what happened."));
        await until(Math.min(1000 * 2 ** failures++, 15_000));
      }
    }
    this.running = false;
  }

  // step does what comes next; true when there is more to do at once.
  step(now) {
    if (now.payment && now.resumeToken) return this.resume(now);
    if (now.payment) return this.look(now);
    if (now.attempt) return this.watch(now);
    if (now.method) return this.manual ? this.ask(now) : this.pay(now);
    this.view.show("form");
    return false;
  }

  // begin pays with a card's token what the customer saw. The key that is kept with it makes sure that it pays once.
  begin(method, seen) {
    const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    keep({ method, seen, key: `checkout-${key}` });
    return this.run();
  }

  // pay makes the payment, or finds the one that was made under the same key.
  async pay(now) {
    this.view.show("working");
    try {
      const payment = await this.client.pay(now.method, now.key, now.seen);
      keep({ payment: payment.id });
      return this.tell(payment);
    } catch (error) {
      if (!error.paymentId) throw error;
      keep({ payment: error.paymentId });
      return true;
    }
  }

  async look(now) {
    return this.tell(await this.client.payment(now.payment));
  }

  async resume(now) {
    this.view.show("working");
    try {
      const payment = await this.client.resume(now.payment, now.resumeToken);
      keep({ resumeToken: undefined });
      return this.tell(payment);
    } catch (error) {
      if (error instanceof Unknown) throw error;
      keep({ resumeToken: undefined }); // not finished yet, or resumed before: the payment tells
      return true;
    }
  }

  // ask makes an attempt that the merchant approves or aborts (MANUAL sessions).
  async ask(now) {
    this.view.show("working");
    try {
      const { currentAttempt } = await this.client.attempt(now.method, now.seen);
      keep({ attempt: currentAttempt.id });
    } catch (error) {
      if (!error.paymentId) throw error;
      keep({ payment: error.paymentId }); // paid already, in another tab
    }
    return true;
  }

  async watch(now) {
    const attempt = await this.client.attemptState(now.attempt);
    if (attempt.paymentId) {
      keep({ payment: attempt.paymentId });
      return true;
    }
    if (attempt.approvalStatus === "ABORTED") return this.end("aborted");
    if (attempt.approvalStatus === "EXPIRED") return this.end("expired");
    if (attempt.amountChanged) { // it is not approved at this price
      keep(nothing);
      return this.anew();
    }
    this.view.show("waiting");
    return this.later();
  }

  // tell shows a payment, and says whether there is more to come of it.
  tell(payment) {
    if (paid.includes(payment.status)) return this.end("succeeded", payment);
    if (ends[payment.status]) return this.end(ends[payment.status], payment);
    if (payment.requiredAction?.clientToken) {
      if (!this.sandbox) return this.confirm(payment);
      location.replace(challengeAddress(payment.requiredAction.clientToken));
      return false;
    }
    this.view.show("pending", payment);
    return this.later();
  }

  // confirm waits for a customer whose bank asks them elsewhere: a resume has the service ask the processor how it ended.
  async confirm(payment) {
    this.view.show("pending", payment);
    await this.later();
    try {
      keep(toResume(await new Client(payment.requiredAction.clientToken).complete("AUTHENTICATED")));
    } catch (error) {
      if (error instanceof Unknown) throw error; // else it has ended meanwhile: the payment tells
    }
    return true;
  }

  end(state, payment) {
    this.view.show(state, payment);
    return false;
  }

  // later waits before the next look: a second at first, five in the end.
  async later() {
    await until(this.polls++ < 15 ? 1000 : 5000);
    return true;
  }

  // refused ends a step that the service said no to: before there is a payment, none was made.
  refused(error) {
    this.view.trouble("");
    if (error.status === 401 || error.id === "ClientSessionValidationError") return this.view.show("expired");
    if (kept().payment) return this.view.show("unclear");
    keep(nothing);
    if (error.id === "AmountChanged") return this.anew();
    return this.view.show("failed");
  }

  // anew shows the page as the session is now: what the customer agreed to is not what it asks for any more.
  anew() {
    keep({ changed: true });
    location.replace(paymentAddress());
    return false;
  }

  // again forgets what was tried, for another card. The page is loaded anew: the order may be paid by now, in another tab.
  again() {
    keep(nothing);
    location.replace(paymentAddress());
  }
}
