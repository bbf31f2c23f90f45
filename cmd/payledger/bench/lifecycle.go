package bench

import "strconv"

type order struct {
	step                 int // the next call
	name, token, payment string
}

const lifecycleCalls = 5

// lifecycle makes the next call of the connection's order. After a failed call the connection
// begins another order.
func (s *service) lifecycle(c *connection, n int64) (err error) {
	var answer []byte
	switch o := &c.order; o.step {
	case 0:
		o.name = s.run + "-" + strconv.FormatInt(n, 10)
		answer, err = expect(c.wire, "POST", "/client-session", "", `{"orderId":"`+o.name+`","currencyCode":"EUR","amount":2500}`)
		o.token = textOf(answer, "clientToken")
	case 1:
		answer, err = expect(c.wire, "POST", "/payment-instruments", "X-Client-Token: "+o.token+"\r\n", card(""))
		o.token = textOf(answer, "token")
	case 2:
		answer, err = expect(c.wire, "POST", "/payments", idempotent(o.name), `{"paymentMethodToken":"`+o.token+`"}`)
		o.payment = textOf(answer, "id")
	case 3:
		_, err = expect(c.wire, "POST", "/payments/"+o.payment+"/capture", idempotent("c-"+o.name), `{"amount":2500}`)
	case 4:
		_, err = expect(c.wire, "POST", "/payments/"+o.payment+"/refund", idempotent("r-"+o.name), `{"amount":2500}`)
	}
	if c.order.step = (c.order.step + 1) % lifecycleCalls; err != nil {
		c.order.step = 0
	}
	return err
}

func idempotent(key string) string { return "X-Idempotency-Key: " + key + "\r\n" }
