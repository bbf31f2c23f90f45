package demo

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

const most = 9

func (s *Shop) show(w http.ResponseWriter, status int, page string, view any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = s.pages.ExecuteTemplate(w, page, view) // the customer went away
}

func (s *Shop) showCart(w http.ResponseWriter, _ *http.Request) {
	s.show(w, http.StatusOK, "cart.html", articles)
}

// buy takes the order, opens a session for it with the shop's API key, and sends the customer to
// the checkout.
func (s *Shop) buy(w http.ResponseWriter, r *http.Request) {
	lines := ordered(r)
	if len(lines) == 0 {
		s.show(w, http.StatusBadRequest, "empty.html", nil)
		return
	}
	order := s.orders.add(lines)
	token, err := s.openSession(r, order)
	if err != nil {
		s.show(w, http.StatusBadGateway, "broken.html", nil)
		return
	}
	http.Redirect(w, r, s.merchant.api+"/checkout?clientToken="+url.QueryEscape(token), http.StatusSeeOther)
}

// ordered reads the quantities of the form; prices come from the shop.
func ordered(r *http.Request) (lines []line) {
	for _, a := range articles {
		if n, err := strconv.ParseInt(r.PostFormValue(a.SKU), 10, 64); err == nil && n > 0 && n <= most {
			lines = append(lines, line{a, n})
		}
	}
	return lines
}

func (s *Shop) openSession(r *http.Request, order purchase) (string, error) {
	items := make([]any, len(order.Lines))
	for i, l := range order.Lines {
		items[i] = map[string]any{"itemId": l.SKU, "name": l.Name, "amount": l.Price, "quantity": l.Quantity, "productType": "PHYSICAL"}
	}
	var session struct {
		ClientToken string `json:"clientToken"`
	}
	err := s.merchant.ask(r.Context(), request(http.MethodPost, "/client-session", map[string]any{
		"orderId": order.ID, "currencyCode": "EUR", "order": map[string]any{"lineItems": items},
		"metadata": map[string]any{"channel": "demo shop"}, "returnUrl": s.URL + "/orders/" + order.ID,
	}), &session)
	return session.ClientToken, err
}

// showReceipt shows the page after the checkout. It ignores the payment in the query: a customer
// can change the address.
func (s *Shop) showReceipt(w http.ResponseWriter, r *http.Request) {
	order, _, known := s.orders.find(r.PathValue("order"))
	if !known {
		s.show(w, http.StatusNotFound, "unknown.html", nil)
		return
	}
	s.show(w, http.StatusOK, "receipt.html", order)
}

// follow sends an event to a receipt's page when a webhook has changed its order (server-sent
// events).
func (s *Shop) follow(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for sent := -1; ; {
		order, changed, known := s.orders.find(r.PathValue("order"))
		if !known {
			return
		}
		if order.News != sent {
			sent = order.News
			fmt.Fprintf(w, "data: %d\n\n", sent)
			if out.Flush() != nil {
				return
			}
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// takeWebhook accepts signed webhooks only (§5.2).
func (s *Shop) takeWebhook(w http.ResponseWriter, r *http.Request) {
	h, err := readWebhook(r, s.secret)
	if err != nil {
		http.Error(w, "not verified", http.StatusBadRequest)
		return
	}
	s.orders.record(h.Payment.OrderID, h)
}
