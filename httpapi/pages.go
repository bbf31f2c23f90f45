package httpapi

import (
	"net/http"
	"strconv"

	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/httpapi/checkout"
)

// getCheckoutPage: GET /checkout, the hosted page of a client token (D12). Without one it is a reload, whose tab
// has kept it.
func getCheckoutPage(c *call) (any, error) {
	token := c.r.URL.Query().Get("clientToken")
	if token == "" {
		return c.api.pages.Restore()
	}
	owner, access, err := c.sessionOf(token)
	if err != nil {
		return c.pageOf(err, checkout.Expired)
	}
	id := c.api.sessionID(access)
	merchant, known := c.api.Reader.Account(owner)
	if !known {
		return c.pageOf(badClientToken(), checkout.Expired)
	}
	if err := c.checkBrowserRate(byClientToken, string(id)); err != nil {
		return nil, err
	}
	c.merchant = merchant
	s, err := c.api.Commands.Session(c.ctx, owner, id)
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
		Merchant: merchantName(c.merchant), Currency: s.Currency, OrderID: s.OrderID, Order: s.Order,
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
		Merchant: merchantName(c.merchant), Amount: found.Amount, Currency: found.Currency,
		Network: found.Method.Card.Network, Last4: found.Method.Card.Last4Digits,
	})
}

// waitingPayment reads the payment that waits for the action of a token.
func (c *call) waitingPayment(token string) (payment.State, error) {
	if err := c.actionOf(token); err != nil {
		return payment.State{}, err
	}
	found, err := c.api.Reader.Payment(c.ctx, c.merchant.ID, c.action.payment)
	if required := found.RequiredAction(); err == nil && (required == nil || required.Revision != c.action.revision) {
		err = badClientToken()
	}
	return found, err
}

// getCheckoutAsset: GET /checkout/assets/{version}/{file}.
func getCheckoutAsset(c *call) (any, error) {
	if asset, known := c.api.pages.Asset(c.vars["version"], c.vars["file"]); known {
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
