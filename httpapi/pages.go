package httpapi

import (
	"net/http"
	"slices"
	"strconv"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/httpapi/checkout"
	"payledger/httpapi/clienttoken"
	"payledger/projections"
)

// getCheckoutPage: GET /checkout, the hosted page of a client token (D12). Without one it is a reload, whose tab
// has kept it.
func getCheckoutPage(c *call) (any, error) {
	token := c.r.URL.Query().Get("clientToken")
	if token == "" {
		return c.api.pages.Restore()
	}
	merchant, id, err := c.sessionOf(token)
	if err != nil {
		return c.pageOf(err, checkout.Expired)
	}
	if err := c.checkBrowserRate(byClientToken, string(id)); err != nil {
		return nil, err
	}
	c.Merchant = merchant
	s, err := c.api.Commands.Session(c.Ctx, merchant.ID, id)
	if err != nil {
		return c.pageOf(err, checkout.Expired)
	}
	open, err := c.openPayment(s)
	if err != nil {
		return nil, err
	}
	if !open.Exists() && (s.Total() == nil || s.Currency == "" || s.OrderID == "") {
		return c.api.pages.Notice(http.StatusBadRequest, checkout.Incomplete)
	}
	view := c.paymentView(s, open)
	if view.AttemptID, err = c.openAttempt(s); err != nil {
		return nil, err
	}
	if view.Saved, err = c.savedCards(s); err != nil {
		return nil, err
	}
	return c.api.pages.Payment(view)
}

// paymentView is what the page shows: of the payment that the session has, whatever became of the session since; else
// of what the session asks for.
func (c *call) paymentView(s session.State, open payment.State) checkout.Payment {
	view := checkout.Payment{
		Merchant: merchantName(c.Merchant), Currency: s.Currency, OrderID: s.OrderID, Order: s.Order,
		Manual: s.ApprovalMode == session.ApprovalManual, ReturnURL: s.ReturnURL,
		Sandbox: c.api.Environment == account.Sandbox, Keeps: s.Method.VaultOnSuccess, Networks: s.Method.AllowedNetworks,
	}
	if open.Exists() {
		view.PaymentID, view.Amount, view.Currency, view.OrderID, view.Order = open.ID, open.Amount, open.Currency, open.OrderID, open.Details().Order
	} else {
		view.Amount = *s.Total()
	}
	return view
}

// unnamed is what an account is called that nobody has named.
const unnamed = "default"

// merchantName is what customers read: the name of the settings (D20), else the account's own; "" when it has none.
func merchantName(merchant account.State) checkout.Merchant {
	if merchant.Settings.DisplayName == "" && merchant.Name != unnamed {
		return checkout.Merchant(merchant.Name)
	}
	return checkout.Merchant(merchant.Settings.DisplayName)
}

// getChallengePage: GET /checkout/challenge, the sandbox's page of a required action (D12, D13).
func getChallengePage(c *call) (any, error) {
	token := c.r.URL.Query().Get("clientToken")
	switch {
	case c.api.Environment != account.Sandbox:
		return c.api.pages.Notice(http.StatusNotFound, checkout.Missing)
	case token == "":
		return c.api.pages.Restore()
	}
	found, err := c.waitingPayment(token)
	if statuses[reasonOf(err)] == http.StatusBadRequest {
		return c.api.pages.ChallengeOver()
	}
	if err != nil {
		return nil, err
	}
	return c.api.pages.Challenge(checkout.Challenge{
		Merchant: merchantName(c.Merchant), Amount: found.Amount, Currency: found.Currency,
		Network: found.Method.Card.Network, Last4: found.Method.Card.Last4Digits,
	})
}

// waitingPayment reads the payment that waits for the action of a token.
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

// getCheckoutAsset: GET /checkout/assets/{version}/{file}.
func getCheckoutAsset(c *call) (any, error) {
	if asset, known := c.api.pages.Asset(c.Vars["version"], c.Vars["file"]); known {
		return asset, nil
	}
	return nil, nothingHere()
}

// pageOf is the page of a refusal; what is no refusal of the token stays an error.
func (c *call) pageOf(err error, n checkout.Notice) (any, error) {
	if status := statuses[reasonOf(err)]; status == http.StatusBadRequest {
		return c.api.pages.Notice(status, n)
	}
	return nil, err
}

// failPage answers a page's request that failed with a page (D12).
func (c *call) failPage(err error) outcome {
	if c.gone(err) {
		return outcome{status: statusGone, failure: err, abort: true}
	}
	err = unavailable(err)
	status := statuses[reasonOf(err)]
	if status == http.StatusServiceUnavailable {
		c.w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	page, broken := c.api.pages.Failure(status)
	if broken != nil {
		return outcome{status: status, failure: err, cut: broken}
	}
	return outcome{status: status, failure: err, cut: c.api.pages.Write(c.w, page)}
}

// openAttempt finds the attempt that waits for the merchant, or whose payment is being made (§3.3); "" when none does.
// One that waits at another price than the session's waits in vain: the customer is asked anew.
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

// openPayment finds the payment that a session has already, paid or under way; the zero state when it has none. Whoever
// opens the page again, in whatever tab, sees that payment and no form to pay a second time.
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

// savedCards are the vaulted cards of the session's customer, the default first, without those that have expired.
func (c *call) savedCards(s session.State) ([]checkout.SavedCard, error) {
	if s.CustomerID == "" {
		return nil, nil
	}
	found, byDefault, err := c.api.Reader.Instruments(c.Ctx, s.Account, s.CustomerID)
	if err != nil {
		return nil, err
	}
	month := c.api.Now().UTC().Format("2006-01")
	var cards []checkout.SavedCard
	for _, f := range found {
		card := checkout.SavedCard{
			Token: f.Token, Network: f.Card.Network, Last4: f.Card.Last4Digits,
			ExpirationMonth: f.Card.ExpirationMonth, ExpirationYear: f.Card.ExpirationYear,
		}
		switch {
		case !s.Method.Takes(f.Card.Network):
		case f.Card.ExpirationYear+"-"+f.Card.ExpirationMonth < month:
		case f.Token == byDefault:
			cards = slices.Insert(cards, 0, card)
		default:
			cards = append(cards, card)
		}
	}
	return cards, nil
}
