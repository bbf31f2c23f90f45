package double

// Customers own PaymentMethods, as Stripe documents it. An attached PaymentMethod pays with its
// Customer only. A PaymentMethod that has paid without a Customer pays no more.

func (d *Double) postCustomer(call) answer {
	id := d.id("cus")
	d.customers[id] = true
	return ok(object{"id": id, "object": "customer", "livemode": false, "created": d.seconds()})
}

// mayPay returns the refusal of a request whose PaymentMethod or Customer cannot pay; nil if they
// can.
func (d *Double) mayPay(c call) *answer {
	id, customer := c.form.Get("payment_method"), c.form.Get("customer")
	m := d.methods[id]
	var refused answer
	switch {
	case m == nil:
		refused = missing(id).having("param", "payment_method")
	case customer != "" && !d.customers[customer]:
		refused = missing(customer).having("param", "customer")
	case m.customer != "" && m.customer != customer:
		refused = invalid("The provided PaymentMethod was attached to a Customer. You must provide that Customer.").having("param", "payment_method")
	case m.used:
		refused = invalid("The provided PaymentMethod was previously used without Customer attachment. It may not be used again.").having("param", "payment_method")
	default:
		return nil
	}
	return &refused
}

// attach keeps the PaymentMethod of an approved intent for later, or ends it.
func (i *intent) attach() {
	switch {
	case i.customer != "" && i.future != "":
		i.method.customer = i.customer
	case i.method.customer == "":
		i.method.used = true
	}
}

// Detach lets an attached PaymentMethod of every Customer be forgotten, as on Stripe's own pages.
func (d *Double) Detach() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.methods {
		if m.customer != "" {
			m.customer, m.used = "", true
		}
	}
}

// Entered makes a PaymentMethod as Stripe's form in a browser does, and returns its id.
func (d *Double) Entered(number string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := &method{id: d.id("pm"), number: number, cvc: "123"}
	d.methods[m.id] = m
	return m.id
}
