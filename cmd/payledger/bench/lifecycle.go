package bench

import (
	"bytes"
	"strconv"
)

// order is where a connection is in the scenario lifecycle.
type order struct {
	step                 int
	name, token, payment string
}

// lifecycle makes the next call of the connection's order.
func (s *scenario) lifecycle(w *wire, n int64) (err error) {
	s.mu.Lock()
	o := s.orders[w]
	if o == nil {
		o = &order{}
		s.orders[w] = o
	}
	s.mu.Unlock()
	var answer []byte
	switch o.step {
	case 0:
		o.name = s.run + "-" + strconv.FormatInt(n, 10)
		answer, err = expect(w, "POST", "/client-session", "", `{"orderId":"`+o.name+`","currencyCode":"EUR","amount":2500}`)
		o.token = valueOf(answer, "clientToken")
	case 1:
		answer, err = expect(w, "POST", "/payment-instruments", "X-Client-Token: "+o.token+"\r\n", card(""))
		o.token = valueOf(answer, "token")
	case 2:
		answer, err = expect(w, "POST", "/payments", "X-Idempotency-Key: "+o.name+"\r\n", `{"paymentMethodToken":"`+o.token+`"}`)
		o.payment = idIn(answer, "")
	case 3:
		_, err = expect(w, "POST", "/payments/"+o.payment+"/capture", "X-Idempotency-Key: c-"+o.name+"\r\n", `{"amount":2500}`)
	case 4:
		_, err = expect(w, "POST", "/payments/"+o.payment+"/refund", "X-Idempotency-Key: r-"+o.name+"\r\n", `{"amount":2500}`)
	}
	if o.step = (o.step + 1) % lifecycleCalls; err != nil {
		o.step = 0 // a new order
	}
	return err
}

const lifecycleCalls = 5

// valueOf returns the value of a text field of an answer.
func valueOf(answer []byte, field string) string {
	_, rest, _ := bytes.Cut(answer, []byte(`"`+field+`":"`))
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}
