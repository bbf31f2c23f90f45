package httpapi

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/httpapi/checkout"
	"payledger/httpapi/checkout/locale"
	"payledger/httpapi/clienttoken"
	"payledger/httpapi/payments"
	"payledger/httpapi/proofpage"
	"payledger/projections"
)

// getCheckoutPage serves GET /checkout, the page of a client token (D12). Without a token it is a
// reload: the tab has the token.
func getCheckoutPage(c *call) (any, error) {
	token := c.r.URL.Query().Get("clientToken")
	if token == "" {
		return c.api.pages.Restore(c.locale())
	}
	merchant, id, err := c.sessionOf(token)
	if err != nil {
		return c.pageOf(err, checkout.Expired)
	}
	if err := c.checkLimit(caller{byClientToken, string(id)}, "client token"); err != nil {
		return nil, err
	}
	c.Merchant = merchant
	origin, err := c.embedder()
	if err != nil {
		return c.api.pages.Notice(c.locale(), http.StatusForbidden, checkout.Elsewhere)
	}
	s, err := c.api.Commands.Session(c.Ctx, merchant.ID, id)
	if err != nil {
		return c.pageOf(err, checkout.Expired)
	}
	open, err := c.openPayment(s)
	if err != nil {
		return nil, err
	}
	if !open.Exists() && (s.Total() == nil || s.Currency == "" || s.OrderID == "") {
		return c.api.pages.Notice(c.locale(), http.StatusBadRequest, checkout.Incomplete)
	}
	view := c.paymentView(s, open)
	view.Embed = origin
	if view.AttemptID, err = c.openAttempt(s); err != nil {
		return nil, err
	}
	if view.Saved, err = c.savedCards(s); err != nil {
		return nil, err
	}
	page, err := c.api.pages.Payment(c.locale(), view)
	return page.FramedBy(origin), err
}

// embedder returns the origin of the shop's page that shows this page in a frame, by
// payledger-checkout.js: one of the account's checkoutOrigins (D22.6). "" if the address names
// none; an error if it names another.
func (c *call) embedder() (string, error) {
	origin := c.r.URL.Query().Get("embed")
	if origin == "" || slices.Contains(c.Merchant.Settings.CheckoutOrigins, origin) {
		return origin, nil
	}
	return "", nothingHere()
}

func (c *call) paymentView(s session.State, open payment.State) checkout.Payment {
	view := checkout.Payment{
		Merchant: merchantName(c.Merchant), Currency: s.Currency, OrderID: s.OrderID, Order: s.Order,
		Manual: s.ApprovalMode == session.ApprovalManual, ReturnURL: s.ReturnURL,
		Sandbox: c.api.Environment == account.Sandbox, Keeps: s.Method.Vaults(), Networks: s.Method.AllowedNetworks,
		OldestMonth: domain.OldestMonth(c.api.Now()), Brand: checkout.BrandOf(c.Merchant.ID, c.Merchant.Settings),
	}
	view.TestCards = view.Sandbox && c.simulated()
	if open.Exists() {
		view.PaymentID, view.Amount, view.Currency, view.OrderID, view.Order = open.ID, open.Amount, open.Currency, open.OrderID, open.Details().Order
	} else {
		view.Amount = *s.Total()
	}
	return view
}

// simulated reports whether each processor that a payment may go to is the simulator: no other one
// takes the cards of its table (D13).
func (c *call) simulated() bool {
	if c.api.Connection == nil {
		return false
	}
	some := false
	for _, p := range c.Merchant.EnabledProcessors() {
		connection := c.api.Connection(p.Name)
		if connection.State == processor.NoAddress {
			continue
		}
		if !connection.Simulated {
			return false
		}
		some = true
	}
	return some
}

// locale returns the language of the customer (D12).
func (c *call) locale() *locale.Locale { return c.api.pages.Locale(c.r) }

// unnamed is the name of an account that has not been named.
const unnamed = "default"

// merchantName returns the name for customers: that of the settings (D20), else the account's own;
// "" when it has none.
func merchantName(merchant account.State) checkout.Merchant {
	if merchant.Settings.DisplayName == "" && merchant.Name != unnamed {
		return checkout.Merchant(merchant.Name)
	}
	return checkout.Merchant(merchant.Settings.DisplayName)
}

// getChallengePage serves GET /checkout/challenge: it sends the customer to the processor's page of
// the required action (D14.1). In the sandbox it stands for that page if the processor has none
// (D12, D13).
func getChallengePage(c *call) (any, error) {
	token := c.r.URL.Query().Get("clientToken")
	sandbox := c.api.Environment == account.Sandbox
	if token == "" && sandbox {
		return c.api.pages.Restore(c.locale())
	}
	found, err := c.waitingPayment(token)
	switch {
	case errorTable[reasonOf(err)].status == http.StatusBadRequest && sandbox:
		return c.api.pages.ChallengeOver(c.locale())
	case errorTable[reasonOf(err)].status == http.StatusBadRequest:
		return c.api.pages.Notice(c.locale(), http.StatusNotFound, checkout.Missing)
	case err != nil:
		return nil, err
	}
	address, err := c.api.Commands.ActionPage(c.Ctx, found, *found.RequiredAction())
	if err != nil { // the processor does not answer
		c.w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		return c.api.pages.Failure(c.locale(), http.StatusServiceUnavailable)
	}
	origin, err := c.embedder()
	if err != nil {
		return c.api.pages.Notice(c.locale(), http.StatusForbidden, checkout.Elsewhere)
	}
	if c.opens(address) {
		page, err := c.api.pages.Leave(c.locale(), address)
		return page.FramedBy(origin), err
	}
	if !sandbox {
		return c.api.pages.Notice(c.locale(), http.StatusNotFound, checkout.Missing)
	}
	page, err := c.api.pages.Challenge(c.locale(), checkout.Challenge{
		Merchant: merchantName(c.Merchant), Amount: found.Amount, Currency: found.Currency,
		Network: found.Method.Card.Network, Last4: found.Method.Card.Last4Digits, Embed: origin,
	})
	return page.FramedBy(origin), err
}

// opens reports whether the customer's browser may be sent to an address: in production over TLS
// only.
func (c *call) opens(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http" && c.api.Environment == account.Sandbox)
}

// getReturnPage serves GET /checkout/challenge/return, to which a processor sends the customer
// after an action on its own page.
func getReturnPage(c *call) (any, error) { return c.api.pages.Return(c.locale()) }

func (c *call) waitingPayment(token string) (payment.State, error) {
	if err := c.enterAction(token); err != nil {
		return payment.State{}, err
	}
	found, err := c.api.Reader.Payment(c.Ctx, c.Merchant.ID, c.Action.Payment)
	if required := found.RequiredAction(); err == nil && (required == nil || required.Revision != c.Action.Revision) {
		err = clienttoken.Refused()
	}
	return found, err
}

func getCheckoutAsset(c *call) (any, error) {
	if asset, known := c.api.pages.Asset(c.Vars["version"], c.Vars["file"]); known {
		return asset, nil
	}
	return nil, nothingHere()
}

func getCheckoutScript(c *call) (any, error) { return c.api.pages.Script(), nil }

// getCheckoutLogo serves the logo of an account, at an address that changes with the logo.
func getCheckoutLogo(c *call) (any, error) {
	merchant, known := c.api.Reader.Account(domain.AccountID(c.Vars["account"]))
	if !known || checkout.LogoAddress(merchant.ID, merchant.Settings.Logo) != c.r.URL.Path {
		return nil, nothingHere()
	}
	file, err := base64.StdEncoding.DecodeString(merchant.Settings.Logo)
	if err != nil {
		return nil, err
	}
	return checkout.Logo(file), nil
}

// getProofPage serves GET /proof, the page that checks a proof in the browser (I1).
func getProofPage(c *call) (any, error) { return proofpage.Page(c.api.Proofs.VerifierKey()) }

func getProofAsset(c *call) (any, error) {
	if file, known := proofpage.Asset(c.Vars["file"]); known {
		return file, nil
	}
	return nil, nothingHere()
}

func (c *call) pageOf(err error, n checkout.Notice) (any, error) {
	if status := errorTable[reasonOf(err)].status; status == http.StatusBadRequest {
		return c.api.pages.Notice(c.locale(), status, n)
	}
	return nil, err
}

func (c *call) failPage(err error) outcome {
	if c.gone(err) {
		return outcome{status: statusGone, failure: err, abort: true}
	}
	err = unavailable(err)
	status := errorTable[reasonOf(err)].status
	if status == http.StatusServiceUnavailable {
		c.w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	page, broken := c.api.pages.Failure(c.locale(), status)
	if broken != nil {
		return outcome{status: status, failure: err, cut: broken}
	}
	return outcome{status: status, failure: err, cut: c.api.pages.Write(c.w, page)}
}

// openAttempt returns the session's attempt that waits for approval, or whose payment is being made
// (§3.3); "" if there is none. An attempt at another price than the session's does not count: the
// customer decides again.
func (c *call) openAttempt(s session.State) (domain.AttemptID, error) {
	if s.Attempt == "" {
		return "", nil
	}
	current, err := c.api.Commands.Attempt(c.Ctx, s.Account, s.Attempt)
	waits := current.Status(c.api.Now()) == attempt.RequiresApproval
	if err != nil || !waits && (current.Decision != attempt.Approved || current.Done) {
		return "", err
	}
	if changed, err := c.api.Commands.AmountChanged(c.Ctx, current); err != nil || changed {
		return "", err
	}
	return current.ID, nil
}

// openPayment returns the session's payment, paid or in progress, or the zero state. Every tab
// shows it instead of a form to pay again.
func (c *call) openPayment(s session.State) (payment.State, error) {
	open := []string{
		string(payment.StatusPending), string(payment.StatusAuthorized), string(payment.StatusSettling),
		string(payment.StatusPartiallySettled), string(payment.StatusSettled),
	}
	listed, err := c.api.Reader.ListPayments(c.Ctx, s.Account, projections.PaymentFilter{Session: s.ID, Statuses: open}, nil, 1)
	if err != nil || len(listed.Data) == 0 {
		return payment.State{}, err
	}
	return c.api.Reader.Payment(c.Ctx, s.Account, listed.Data[0].ID)
}

// offers reports whether the session's customer can pay with a saved card: the session takes its
// network, and it has not expired.
func (c *call) offers(s session.State) func(instrument.State) bool {
	now := c.api.Now()
	return func(i instrument.State) bool {
		return s.Method.Takes(i.Card.Network) && !domain.CardExpired(i.Card.ExpirationMonth, i.Card.ExpirationYear, now)
	}
}

func (c *call) savedCards(s session.State) ([]checkout.SavedCard, error) {
	if s.CustomerID == "" {
		return nil, nil
	}
	found, _, err := c.api.Reader.NewestInstruments(c.Ctx, s.Account, s.CustomerID, payments.ShownCards, c.offers(s))
	if err != nil {
		return nil, err
	}
	byDefault, err := c.api.Reader.DefaultInstrument(c.Ctx, s.Account, s.CustomerID)
	if err != nil {
		return nil, err
	}
	var cards []checkout.SavedCard
	for _, f := range found {
		card := checkout.SavedCard{
			Token: f.Token, Network: f.Card.Network, Last4: f.Card.Last4Digits,
			ExpirationMonth: f.Card.ExpirationMonth, ExpirationYear: f.Card.ExpirationYear,
		}
		if f.Token == byDefault {
			cards = slices.Insert(cards, 0, card)
		} else {
			cards = append(cards, card)
		}
	}
	return cards, nil
}
