package double

// Moved is what the account did under one key of the ledger, which the double finds in metadata.
type Moved struct {
	Authorized int   // number of approved authorizations
	Captured   int64 // of all PaymentIntents of the payment
	Refunded   int64
	Cancelled  int
}

// ByReference sums what the account did for each payment of the ledger.
func (d *Double) ByReference() map[string]Moved {
	d.mu.Lock()
	defer d.mu.Unlock()
	sums := map[string]Moved{}
	for _, i := range d.order {
		reference := i.metadata["payledger_reference"]
		m := sums[reference]
		if i.charge != nil && i.charge.status == "succeeded" {
			m.Authorized++
		}
		if i.canceled != 0 {
			m.Cancelled++
		}
		m.Captured += i.received
		m.Refunded += i.refunded
		sums[reference] = m
	}
	return sums
}

// Intent returns the id of the newest PaymentIntent of a payment, or "".
func (d *Double) Intent(reference string) (id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, i := range d.order {
		if i.metadata["payledger_reference"] == reference {
			id = i.id
		}
	}
	return id
}

// Held returns the authorized amount of the newest PaymentIntent of a payment that was approved,
// with its increments.
func (d *Double) Held(reference string) (amount int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, i := range d.order {
		if i.metadata["payledger_reference"] == reference && i.charge != nil && i.charge.status == "succeeded" {
			amount = i.amount
		}
	}
	return amount
}
